// Package easy has the types of package shapes with the code of easyjson. It is
// a package of its own because that code adds methods to the types, which all other
// codecs would call.
package easy

import (
	"time"

	"github.com/google/uuid"
)

//go:generate go run github.com/mailru/easyjson/easyjson -all easy.go

// Spec is as in package shapes.
type Spec struct { //nolint:recvcheck // easyjson wrote the methods
	People []uuid.UUID `json:"people"`
}

// State is as in package shapes.
type State struct { //nolint:recvcheck // easyjson wrote the methods
	Changed int       `json:"changed"`
	Skipped int       `json:"skipped"`
	Phase   string    `json:"phase"`
	After   string    `json:"after"`
	Last    bool      `json:"last"`
	Checked time.Time `json:"checked"`
}

// Result is as in package shapes.
type Result struct { //nolint:recvcheck // easyjson wrote the methods
	Counts map[string]map[string]map[string]int `json:"counts"`
}
