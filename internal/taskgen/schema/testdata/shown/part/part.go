// Package part is not named to taskgen: its types come from export data.
package part

import "time"

type (
	// Part is declared in a group,
	// in another package.
	Part struct {
		// Size is documented above; the comment behind is another.
		Size  int        `json:"size" validate:"min=1"` // not this
		Month time.Month `json:"month"`                 // Month is documented behind.
		// Level is an enum.
		Level Level `json:"level"`
	}

	// Level says how much.
	Level int
)

// The levels.
const (
	Low  Level = iota + 1 // Low is little.
	High                  // High is much.
)
