package store

import "github.com/google/uuid"

// NewID returns an id for a row, a UUIDv7: new rows are close to each other in an
// index. It panics when the system has no randomness.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
