package corpus

import (
	"context"

	"taskkit.dev/taskkit"
)

// Base is embedded.
type Base struct {
	Name   string `json:"name"`
	Shared int    `json:"shared"`
}

// Deep embeds, and is embedded.
type Deep struct {
	Base
	Depth int `json:"depth"`
}

// Option is embedded by a pointer.
type Option struct {
	Extra string `json:"extra,omitempty"`
	On    bool   `json:"on"`
}

type hidden struct {
	Inner string `json:"inner"`
}

// Tree contains itself in every way.
type Tree struct {
	Value    int             `json:"value"`
	Children []Tree          `json:"children"`
	Left     *Tree           `json:"left,omitempty"`
	By       map[string]Tree `json:"by,omitempty"`
}

// Forest is nothing but itself.
type Forest []Forest

// Mood is an enum.
type Mood string

// The moods.
const (
	Glad Mood = "glad"
	Sad  Mood = "sad"
)

// Rank is an enum without a name for zero.
type Rank uint8

// The ranks.
const (
	First Rank = iota + 1
	Second
	Last = Second
)

// Cents is no enum.
//
//taskkit:open
type Cents int

// Amounts that have a name.
const (
	Dime   Cents = 10
	Dollar Cents = 100
)

// Both is generic and embeds.
type Both[T any] struct {
	Option
	Value T   `json:"value"`
	Other []T `json:"other"`
}

// BaseBoth is an alias of an instance.
type BaseBoth = Both[Base]

// Shapes has what Spec has not.
type Shapes struct {
	Deep
	*Option
	hidden
	Shared    string           `json:"shared"`
	Tree      Tree             `json:"tree"`
	Trees     map[string]*Tree `json:"trees"`
	Forest    Forest           `json:"forest"`
	Anonymous struct {
		A int      `json:"a"`
		B []string `json:"b"`
	} `json:"anonymous"`
	Anonymouses []struct {
		A bool `json:"a,omitempty"`
	} `json:"anonymouses"`
	ByInt   map[int]string  `json:"by_int"`
	ByLevel map[Level]bool  `json:"by_level"`
	ByUint  map[uint8]Base  `json:"by_uint"`
	Mood    Mood            `json:"mood"`
	Moods   []Mood          `json:"moods"`
	MoodPtr *Mood           `json:"mood_ptr"`
	MoodBy  map[string]Mood `json:"mood_by"`
	Rank    Rank            `json:"rank,omitzero"`
	Ranks   map[Rank]int    `json:"ranks"`
	Cents   Cents           `json:"cents"`
	Both    BaseBoth        `json:"both"`
	Boths   []Both[Mood]    `json:"boths"`
	Knots   map[string]Knot `json:"knots"`
}

// Knot holds itself, and is met first in the values of a map.
type Knot struct {
	Other *Knot `json:"other,omitempty"`
}

// Shaper is an executor with other shapes.
//
//taskkit:executor shapes
type Shaper struct{}

// Execute implements [taskkit.Executor].
func (*Shaper) Execute(context.Context, *taskkit.Batch[Shapes, Option]) (taskkit.Next, error) {
	return taskkit.Done, nil
}
