package taskkind

import "encoding/json"

// Upgrade converts what one revision of a kind wrote to the next revision. Each
// function takes JSON of revision From and returns JSON of the revision after it;
// nil means that the part needs no conversion. Upgrades are chained from the
// stored revision to the current one, and the outcome is decoded as strictly as
// any other JSON. taskgen reports when a change needs one.
type Upgrade struct {
	From                int
	Spec, State, Result UpgradeFunc
}

// UpgradeFunc converts JSON of one revision to JSON of the next.
type UpgradeFunc func(old json.RawMessage) (json.RawMessage, error)
