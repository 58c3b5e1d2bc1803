package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskpolicy"
)

// Options are what a task has been given besides its spec and its targets. They
// are in its plan. The zero value is none.
type Options struct {
	lifecycle.Conditions
	// Preview executes the task without keeping what it writes.
	Preview bool `json:"preview,omitempty"`
	// DryRun finds what the task would process, and executes nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Previewed is the revision of the kind at which the preview was executed that the
	// task applies, and at which its first batch must be; 0: the task applies none.
	Previewed int `json:"previewed,omitempty"`
	// ChangeLimits are how many rows the preview may change at most. An empty table is all
	// tables together, and an empty verb all verbs.
	ChangeLimits []Change `json:"change_limits,omitempty"`
	// Child names the parent of the task; nil: it has none.
	Child *Child `json:"child,omitempty"`
	// MaxParallel is how many buckets of the task may be open at once; 0: the default.
	MaxParallel int `json:"max_parallel,omitempty"`
	// OnFailure is what a bucket that fails means for the task; "": [FailureFails].
	OnFailure OnFailure `json:"on_failure,omitempty"`
	lifecycle.Times
	// OfKind are the times that the kind gives its tasks, see [NewTask.SetTimes], and to those that follow this one.
	OfKind TimesOfKind `json:"of_kind,omitzero"`
	// MaxRate is how many items a second the task processes at most; 0: as many as it can.
	MaxRate float64 `json:"max_rate,omitempty"`
	// Limits are those that the task must find free before it executes.
	Limits []Limit `json:"limits,omitempty"`
	// Stages are the options of stages of the task, by their names.
	Stages map[string]StageOptions `json:"stages,omitempty"`
	// Keep is how long the task is kept after its end, in a column of its row too; 0: as long as its kind. See [KeepForever].
	Keep time.Duration `json:"keep,omitempty"`
	// Sample is the part of the targets that a preview takes which finds them; nil: all.
	Sample *RandomSample `json:"sample,omitempty"`
	// Sources are the tasks that the targets are from, in the order of their positions; none: of one task, or of none.
	Sources []Source `json:"sources,omitempty"`
	// SelectedBy is the newest task that was made of failed items of several tasks, and has items of this one; zero: none.
	SelectedBy uuid.UUID `json:"selected_by,omitzero"`
	// Strategy is what becomes of errors; nil: what the kind says.
	Strategy taskpolicy.Strategy `json:"strategy,omitempty"`
	// Policies are decided with the writes of the task and its children, by PolicyState. Nil: it has never had some.
	Policies    taskpolicy.Policies `json:"policies,omitempty"`
	PolicyState PolicyState         `json:"policy_state,omitzero"`
	// Notify are who is notified of the events of the task.
	Notify []notice.Subscription `json:"notify,omitempty"`
	// Watched: a task above has policies, for which the writes of this one count.
	Watched bool `json:"watched,omitempty"`
}

// Source is a task that targets of another are from.
type Source struct {
	Task uuid.UUID `json:"task"`
	From int64     `json:"from"` // the position of its first target in the other, from 0
}

// TimesOfKind are the times of the tasks of a kind that are submitted without their own; 0 is none.
type TimesOfKind struct {
	LatestStart time.Duration `json:"latest_start,omitempty"` // after the submission
	TimeLimit   time.Duration `json:"time_limit,omitempty"`
}

// SetTimes sets the times of the kind that the task has not of its own, when it is stored.
func (t *NewTask) SetTimes(now time.Time) {
	o := t.Options
	if o == nil || o.OfKind == (TimesOfKind{}) {
		return
	}
	begins := now.Add(t.Delay)
	if t.NotBefore.After(begins) {
		begins = t.NotBefore
	}
	if o.LatestStart.IsZero() && o.OfKind.LatestStart > 0 {
		o.LatestStart = begins.Add(o.OfKind.LatestStart).UTC()
	}
	o.TimeLimit = cmp.Or(o.TimeLimit, o.OfKind.TimeLimit)
}

// Given reports whether there is an option. There is none where o is nil.
func (o *Options) Given() bool {
	return o != nil && (o.Conditions != (lifecycle.Conditions{}) || o.Preview || o.DryRun || o.Previewed != 0 || len(o.ChangeLimits) > 0 ||
		o.Child != nil || o.MaxParallel != 0 || o.OnFailure != "" ||
		o.Times != (lifecycle.Times{}) || o.OfKind != (TimesOfKind{}) || o.MaxRate != 0 || len(o.Limits) > 0 || len(o.Stages) > 0 || o.Keep != 0 || len(o.Sources) > 0 || o.SelectedBy != uuid.Nil ||
		o.Sample != nil || len(o.Strategy) > 0 || len(o.Policies) > 0 || len(o.Notify) > 0 || o.Watched || !reflect.ValueOf(o.PolicyState).IsZero())
}

// inherited are the options that a task gets from the one that it follows. Whoever makes
// it cannot do so to avoid an approval. The other may have failed because of its times, so these are left out but
// for the window, and the times of the kind begin anew.
func (o *Options) inherited() *Options {
	return &Options{
		Conditions: lifecycle.Conditions{StopAfter: o.StopAfter, Approval: o.Approval}, MaxParallel: o.MaxParallel, OnFailure: o.OnFailure,
		Times: lifecycle.Times{Window: o.Window}, OfKind: o.OfKind, MaxRate: o.MaxRate, Limits: o.Limits, Keep: o.Keep,
		Strategy: o.Strategy, Policies: o.Policies, Notify: o.Notify,
	}
}

// OfBucket are the options of a bucket of the task. The bucket executes when the task may.
func (o *Options) OfBucket(c Child) *Options {
	return &Options{Child: &c, DryRun: o.DryRun, Times: lifecycle.Times{Window: o.Window, Deadline: o.Deadline}, Limits: o.Limits, Keep: o.Keep, Strategy: o.Strategy, Watched: o.Watches()}
}

// Watches reports whether policies of the task, or of one above, count the writes of its children. False for nil.
func (o *Options) Watches() bool { return o != nil && (o.Policies != nil || o.Watched) }

// OfStage are the options of a stage of the task, which it has besides its own. The stage executes when the task may: in the window
// of the task unless it has its own, before both deadlines, and with the permits of both. Its own strategy goes before the
// strategy of the task.
func (o *Options) OfStage(own Options, c Child) *Options {
	own.Child = &c
	own.Window = cmp.Or(own.Window, o.Window)
	if own.Deadline.IsZero() || !o.Deadline.IsZero() && o.Deadline.Before(own.Deadline) {
		own.Deadline = o.Deadline
	}
	own.Limits = MergeLimits(own.Limits, o.Limits)
	own.Watched = o.Watches()
	if own.Strategy == nil {
		own.Strategy = o.Strategy
	}
	return &own
}

// encode returns the options as they are stored; "" for none.
func (o *Options) encode() (string, error) {
	if !o.Given() {
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

// WithMaxParallel returns stored options with another bound of the open buckets.
func WithMaxParallel(text []byte, n int) (string, error) {
	return withOption(text, "max_parallel", strconv.Itoa(n))
}

// WithMaxRate returns stored options with another rate; 0 removes it.
func WithMaxRate(text []byte, rate float64) (string, error) {
	return withOption(text, "max_rate", strconv.FormatFloat(rate, 'g', -1, 64))
}

// WithSelectedBy returns stored options with another SelectedBy.
func WithSelectedBy(text []byte, id uuid.UUID) (string, error) {
	return withOption(text, "selected_by", strconv.Quote(id.String()))
}

// RateRaised reports whether another rate lets a task with these options process more items a second; one that is not
// positive is none.
func (o *Options) RateRaised(rate float64) bool {
	return o.MaxRate > 0 && (rate <= 0 || rate > o.MaxRate)
}

// withOption returns stored options with another value of one of them, as JSON. It keeps what
// it does not know, which a newer program may have stored.
func withOption(text []byte, name, value string) (string, error) {
	stored := make(map[string]json.RawMessage)
	if len(text) > 0 {
		if err := json.Unmarshal(text, &stored); err != nil {
			return "", fmt.Errorf("decode the options of a task: %w", err)
		}
	}
	stored[name] = json.RawMessage(value)
	encoded, err := json.Marshal(stored)
	if err != nil {
		return "", fmt.Errorf("encode the options of a task: %w", err)
	}
	return string(encoded), nil
}

// WithConditions returns stored options with other conditions. It keeps what it does not
// know, which a newer program may have stored.
func WithConditions(text []byte, c lifecycle.Conditions) (string, error) {
	stored := make(map[string]json.RawMessage)
	if len(text) > 0 {
		if err := json.Unmarshal(text, &stored); err != nil {
			return "", fmt.Errorf("decode the options of a task: %w", err)
		}
	}
	changed := make(map[string]json.RawMessage)
	encoded, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(encoded, &changed)
	}
	if err != nil {
		return "", fmt.Errorf("encode the options of a task: %w", err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[lifecycle.Conditions]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(stored, name)
	}
	maps.Copy(stored, changed)
	encoded, err = json.Marshal(stored)
	if err != nil {
		return "", fmt.Errorf("encode the options of a task: %w", err)
	}
	return string(encoded), nil
}
