package store

import (
	"encoding/json"
	"fmt"
	"reflect"

	"taskkit.dev/internal/lifecycle"
)

// StageOptions are what a submission gives a stage of a composite task, besides what the stage has by the code of its parent.
type StageOptions struct {
	Queue    string  `json:"queue,omitempty"`
	Priority int     `json:"priority,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Options  Options `json:"options,omitzero"`
}

// ApplyTo sets the options that are given in a new task. Of limits with the same key the smaller one counts.
func (o *StageOptions) ApplyTo(t *NewTask) error {
	if o.Queue != "" {
		t.Queue = o.Queue
	}
	if o.Priority != 0 {
		t.Priority = o.Priority
	}
	if o.Reason != "" {
		t.Reason = o.Reason
	}
	limits := t.Options.Limits
	if o.Options.StopAfter != (lifecycle.StopPolicy{}) {
		t.Options.StopAfter = lifecycle.StopPolicy{} // of which one field is given
	}
	// Otherwise what is given would be decoded into the memory of what is there, which may be a variable of the program.
	given, own := reflect.ValueOf(&o.Options).Elem(), reflect.ValueOf(t.Options).Elem()
	for i := range given.NumField() {
		if f := given.Field(i); (f.Kind() == reflect.Slice || f.Kind() == reflect.Pointer) && !f.IsZero() {
			own.Field(i).SetZero()
		}
	}
	text, err := json.Marshal(o.Options)
	if err == nil {
		err = json.Unmarshal(text, t.Options)
	}
	if err != nil {
		return fmt.Errorf("set the options of a stage: %w", err)
	}
	t.Options.Limits = MergeLimits(limits, o.Options.Limits)
	return nil
}
