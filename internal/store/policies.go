package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/taskpolicy"
)

// PolicyState is what policies have counted and done, beside what the rows of the task and its children count. It is in the options of
// the task, and changes in the transactions of the writes that it counts.
type PolicyState struct {
	Fired    []string                                `json:"fired,omitempty"` // policies that have fired and are not set again
	Codes    map[taskpolicy.Counter]map[string]int64 `json:"codes,omitempty"`
	Deferred int64                                   `json:"deferred,omitempty"`
	Attempts int64                                   `json:"attempts,omitempty"` // that failed since the last progress
	Restarts int64                                   `json:"restarts,omitempty"`
	// Processed is how many items were processed at the last decision, and Progressed when that was last more than before.
	Processed  int64     `json:"processed,omitempty"`
	Progressed time.Time `json:"progressed,omitzero"`
	// Failing is why the task, which is to be stopped, ends in FAILURE; "": it does not.
	Failing string `json:"failing,omitempty"`
}

// Fired is a policy that has fired.
type Fired struct {
	Task   uuid.UUID
	Policy string
	Do     taskpolicy.Action
	Reason string
}

// Decided is what the policies of a task, and of those above, have decided after a write.
type Decided struct {
	Fired   []Fired
	Restart int64 // the number of the restart that a policy of the task requests; 0: none does
}

// CountPolicies adds what a write of the task or of one of its children brings to what its policies count.
func (o *Options) CountPolicies(w *Write) {
	s := &o.PolicyState
	if w.Attempt != nil {
		s.Attempts++
	}
	if !w.Checkpoint {
		return
	}
	for i := range w.Items {
		var of taskpolicy.Counter
		switch w.Items[i].Outcome {
		case ItemFailed:
			of = taskpolicy.Failed
		case ItemSkipped:
			of = taskpolicy.Skipped
		case ItemDeferred:
			of = taskpolicy.Deferred
			s.Deferred++
		default:
		}
		if of == "" || !o.countsCode(of, w.Items[i].Code) {
			continue
		}
		if s.Codes == nil {
			s.Codes = make(map[taskpolicy.Counter]map[string]int64)
		}
		if s.Codes[of] == nil {
			s.Codes[of] = make(map[string]int64)
		}
		s.Codes[of][w.Items[i].Code]++
	}
}

// countsCode reports whether a policy counts items with a code: others are not stored, so that what is stored is bounded.
func (o *Options) countsCode(of taskpolicy.Counter, code string) bool {
	return o.counts(func(i *taskpolicy.Items) bool { return i.Of == of && i.Code == code })
}

// counts reports whether a policy has such a condition.
func (o *Options) counts(such func(*taskpolicy.Items) bool) bool {
	var has func(c *taskpolicy.Condition) bool
	has = func(c *taskpolicy.Condition) bool {
		for _, list := range [][]taskpolicy.Condition{c.All, c.Any} {
			for i := range list {
				if has(&list[i]) {
					return true
				}
			}
		}
		return c.Not != nil && has(c.Not) || c.Items != nil && such(c.Items)
	}
	for i := range o.Policies {
		if has(&o.Policies[i].When) {
			return true
		}
	}
	return false
}

// DecidePolicies decides the policies of a task that is there at a time, after what the writes bring was counted, and returns
// those that fire.
func (o *Options) DecidePolicies(id uuid.UUID, now, started time.Time, at lifecycle.Progress) []Fired {
	s := &o.PolicyState
	now = now.UTC()
	processed := at.Processed()
	if processed > s.Processed {
		s.Attempts = 0
	}
	if processed > s.Processed || s.Progressed.IsZero() {
		s.Processed, s.Progressed = processed, now
	}
	f := &taskpolicy.Facts{
		Processed: processed, Failed: at.Failed, Skipped: at.Skipped, Deferred: s.Deferred, Codes: s.Codes,
		Attempts: s.Attempts, Restarts: s.Restarts, Idle: now.Sub(s.Progressed),
	}
	if !started.IsZero() {
		f.Runs = now.Sub(started)
	}
	before := make(map[string]bool, len(s.Fired))
	for _, name := range s.Fired {
		before[name] = true
	}
	s.Fired = nil
	var fired []Fired
	for i := range o.Policies {
		p, name := &o.Policies[i], o.Policies.Title(i)
		fires := !before[name] && p.When.Holds(f)
		if fires || before[name] && p.When.Holding(f) {
			s.Fired = append(s.Fired, name)
		}
		if !fires {
			continue
		}
		reason := fmt.Sprintf("%s%s: %s when %s", lifecycle.ReasonPolicy, name, p.Do, &p.When)
		fired = append(fired, Fired{id, name, p.Do, reason})
		switch p.Do {
		case taskpolicy.Restart:
			s.Restarts++
		case taskpolicy.Fail:
			s.Failing = reason
		case taskpolicy.Notify, taskpolicy.Pause, taskpolicy.Stop:
		}
	}
	return fired
}

// HaltedBy returns the name of a policy that pauses, stops or fails the task, and that has fired or would have fired with the end, at
// which no policies are decided; "": there is none. What counts codes reads the failed and skipped items that are recorded.
func (o *Options) HaltedBy(at lifecycle.Progress, recorded iter.Seq2[*Item, error]) (string, error) {
	halts := func(p *taskpolicy.Policy) bool {
		return p.Do == taskpolicy.Pause || p.Do == taskpolicy.Stop || p.Do == taskpolicy.Fail
	}
	if !slices.ContainsFunc(o.Policies, func(p taskpolicy.Policy) bool { return halts(&p) }) {
		return "", nil
	}
	s := &o.PolicyState
	f := &taskpolicy.Facts{Processed: at.Processed(), Failed: at.Failed, Skipped: at.Skipped, Deferred: s.Deferred, Codes: maps.Clone(s.Codes), Restarts: s.Restarts}
	if o.counts(func(i *taskpolicy.Items) bool { return i.Code != "" }) {
		of := Options{Policies: o.Policies}
		for i, err := range recorded {
			if err != nil {
				return "", err
			}
			of.CountPolicies(&Write{Checkpoint: true, Items: []Item{*i}})
		}
		if f.Codes == nil {
			f.Codes = of.PolicyState.Codes
		} else {
			maps.Copy(f.Codes, of.PolicyState.Codes)
		}
	}
	for i := range o.Policies {
		name := o.Policies.Title(i)
		if p := &o.Policies[i]; halts(p) && (slices.Contains(s.Fired, name) || p.When.Holds(f)) {
			return name, nil
		}
	}
	return "", nil
}

// WithPolicyState returns stored options with another state of the policies.
func WithPolicyState(text []byte, s PolicyState) (string, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode the state of policies: %w", err)
	}
	return withOption(text, "policy_state", string(encoded))
}

// WithPolicies returns stored options with other policies, none of which has fired.
func WithPolicies(text []byte, p taskpolicy.Policies) (string, error) {
	o, err := DecodeOptions(text)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode policies: %w", err)
	}
	changed, err := withOption(text, "policies", string(encoded))
	if err != nil {
		return "", err
	}
	o.PolicyState.Fired = nil
	return WithPolicyState([]byte(changed), o.PolicyState)
}
