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
		if of != "" && o.countsCode(of, w.Items[i].Code) {
			s.add(CodeCount{of, w.Items[i].Code, 1})
		}
	}
}

// countsCode reports whether a policy counts items with a code: others are not stored, so that what is stored is bounded.
func (o *Options) countsCode(of taskpolicy.Counter, code string) bool {
	return o.counts(func(i *taskpolicy.Items) bool { return i.Of == of && i.Code == code })
}

// counts reports whether a policy has such a condition.
func (o *Options) counts(such func(*taskpolicy.Items) bool) bool { return anyItems(o.Policies, such) }

// CountCodes reports whether policies count items by their codes.
func CountCodes(p taskpolicy.Policies) bool {
	return anyItems(p, func(i *taskpolicy.Items) bool { return i.Code != "" })
}

// anyItems reports whether a mark of policies is one.
func anyItems(p taskpolicy.Policies, is func(*taskpolicy.Items) bool) bool {
	var has func(c *taskpolicy.Condition) bool
	has = func(c *taskpolicy.Condition) bool {
		for _, list := range [][]taskpolicy.Condition{c.All, c.Any} {
			for i := range list {
				if has(&list[i]) {
					return true
				}
			}
		}
		return c.Not != nil && has(c.Not) || c.Items != nil && is(c.Items)
	}
	for i := range p {
		if has(&p[i].When) {
			return true
		}
	}
	return false
}

// CodeCount is how many items of a task and its children have failed or were skipped with a code.
type CodeCount struct {
	Of    taskpolicy.Counter
	Code  string
	Items int64
}

// ChangePolicies replaces the policies. None of the new ones has fired. They count the failed and skipped items with their codes that are
// stored; deferred ones are not kept, so only those count that a policy has counted before. Without policies the task is still one
// that has had some, whose writes are counted.
func (o *Options) ChangePolicies(p taskpolicy.Policies, stored []CodeCount) {
	if p == nil {
		p = taskpolicy.Policies{}
	}
	before := o.PolicyState.Codes[taskpolicy.Deferred]
	o.Policies, o.PolicyState.Fired, o.PolicyState.Codes = p, nil, nil
	for code, n := range before {
		stored = append(stored, CodeCount{taskpolicy.Deferred, code, n})
	}
	for _, c := range stored {
		if o.countsCode(c.Of, c.Code) {
			o.PolicyState.add(c)
		}
	}
}

// add adds to what is counted by codes.
func (s *PolicyState) add(c CodeCount) {
	if s.Codes == nil {
		s.Codes = make(map[taskpolicy.Counter]map[string]int64)
	}
	if s.Codes[c.Of] == nil {
		s.Codes[c.Of] = make(map[string]int64)
	}
	s.Codes[c.Of][c.Code] += c.Items
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

// WithPolicies returns stored options with other policies, see [Options.ChangePolicies].
func WithPolicies(text []byte, p taskpolicy.Policies, stored []CodeCount) (string, error) {
	o, err := DecodeOptions(text)
	if err != nil {
		return "", err
	}
	o.ChangePolicies(p, stored)
	encoded, err := json.Marshal(o.Policies)
	if err != nil {
		return "", fmt.Errorf("encode policies: %w", err)
	}
	changed, err := withOption(text, "policies", string(encoded))
	if err != nil {
		return "", err
	}
	return WithPolicyState([]byte(changed), o.PolicyState)
}
