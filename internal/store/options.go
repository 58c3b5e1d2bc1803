package store

import (
	"encoding/json"
	"fmt"
)

// Options are what a task has been given besides its spec and its targets. They
// are in its plan. The zero value is none.
type Options struct {
	// StopAfter pauses the task when too many of its items have failed.
	StopAfter StopPolicy `json:"stop_after,omitzero"`
	// Preview executes the task without keeping what it writes.
	Preview bool `json:"preview,omitempty"`
	// Sample takes every n-th target only; 0 and 1 take all.
	Sample int64 `json:"sample,omitempty"`
}

// StopPolicy says when a task has too many failed items. The zero value is never.
type StopPolicy struct {
	Failed  int64   `json:"failed,omitempty"`  // that many
	Percent float64 `json:"percent,omitempty"` // of the processed ones
}

// inherited are the options that a task gets from the one that it follows.
func (o *Options) inherited() Options { return Options{StopAfter: o.StopAfter} }

// encode returns the options as they are stored; "" for none.
func (o *Options) encode() (string, error) {
	if *o == (Options{}) {
		return "", nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encode the options of a task: %w", err)
	}
	return string(text), nil
}

// DecodeOptions decodes stored options; nothing stands for none.
func DecodeOptions(text []byte) (o Options, err error) {
	if len(text) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fmt.Errorf("decode the options of a task: %w", err)
	}
	return o, nil
}
