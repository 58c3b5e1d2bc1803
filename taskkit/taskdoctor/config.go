package taskdoctor

import (
	"context"
	"fmt"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/errtree"
	"taskkit.dev/taskkit"
)

// spare is how many connections a worker needs besides its slots.
const spare = 3

// readConfig checks the configuration of the program's worker, and its pool.
func readConfig(_ context.Context, e *scope) (all []Finding, err error) {
	slots, err := access.ConfigOf(e.dialect, e.Options.Config)
	for _, refused := range errtree.All[*taskkit.OptionError](err) {
		all = append(all, found("config_refused", fmt.Sprintf("%s: %s.", refused.Option, refused.Problem)).of(refused.Option))
	}
	if most := e.db.Stats().MaxOpenConnections; most > 0 && most < slots+spare {
		all = append(all, found("pool_small", fmt.Sprintf("The pool of this program has at most %s, and its worker of %s uses up to %d: it listens for no new tasks, or waits for itself.",
			count(most, "connection"), count(slots, "slot"), slots+spare)))
	}
	return all, nil
}
