package engine

import "taskkit.dev/internal/store"

// Store is the part of the database that a worker needs.
type Store = store.Runtime
