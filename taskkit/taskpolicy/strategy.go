// Package taskpolicy has what a task does about errors, as data: a [Strategy] says what becomes of one error, and a [Policy] what is done
// when counters, attempts or times have reached a mark. A kind names them in its directive, and a submission gives them with
// taskkit.WithStrategy and taskkit.WithPolicies. They are plain values: a program can store them, show them, and test what they do.
package taskpolicy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Strategy is an ordered list of reactions to errors. The first entry that matches an error decides. An error that no entry
// matches is treated as without a strategy:
//
//	taskpolicy.Strategy{
//		{Of: taskpolicy.Item, Do: taskpolicy.FailItem},
//		{Of: taskpolicy.Batch, Class: taskpolicy.Permanent, Do: taskpolicy.FailTask},
//		{Of: taskpolicy.Batch, Do: taskpolicy.RetryBatch},
//	}
//
// Entries do not match errors that are mistakes in the program (the code misuse), nor faults that are not the batch's: the loss
// of the lease, a shutdown of the worker, a database that serves nobody, and a statement that is too large while the batch can
// be made smaller.
type Strategy []OnError

// OnError is an entry of a [Strategy]: which errors it matches, and the reaction. A field that is zero matches every error.
type OnError struct {
	// Of says where the error is: of one item, or of the batch.
	Of Of `json:"of,omitempty"`
	// Class is the class of the error.
	Class Class `json:"class,omitempty"`
	// Codes are codes of which the error has one: the code of taskkit.Permanent, a code of taskkit as items and attempts show
	// it (item_failed, database, invalid, batch_timeout, panic), or a SQLSTATE such as 23505.
	Codes []string `json:"codes,omitempty"`
	// Do is the reaction.
	Do Reaction `json:"do"`
	// First and Next are how long the task waits before it tries its deferred items again, the first time and each later
	// time, with [DeferItem]. The items of a task are tried again in rounds, so all entries of a strategy have the same two.
	// Next defaults to First, and both to the delays of the kind.
	First time.Duration `json:"first,omitempty"`
	Next  time.Duration `json:"next,omitempty"`
	// Tries is how often an item is tried in all, with [DeferItem] and First. After the last try it fails. Defaults to 3.
	Tries int `json:"tries,omitempty"`
}

// Of says where an error is.
type Of string

// Where an error is.
const (
	// Item: the error of one item, with which the executor called Batch.Fail, or which a function of taskkit.Each returned for
	// the item alone.
	Item Of = "item"
	// Batch: Execute returned the error.
	Batch Of = "batch"
)

// Class is the class of an error.
type Class string

// The classes.
const (
	Transient Class = "transient" // a new try may succeed
	Permanent Class = "permanent" // no try can succeed, see taskkit.IsPermanent
)

// Reaction is what becomes of an error.
type Reaction string

// The reactions.
//
// DeferItem, FailItem and SkipItem of an error that Execute returned concern the one item that the batch has taken with
// taskkit.Take. A batch that has taken several is executed again with fewer, until the item that fails is alone. They do not
// match the error of a batch that has taken none. DeferItem does not match an item that Take has not returned.
const (
	// RetryBatch rolls the batch back and tries it again after the backoff, bounded by Config.MaxAttempts.
	RetryBatch Reaction = "retry_batch"
	// DeferItem tries the item again in the next round, see Batch.Defer.
	DeferItem Reaction = "defer_item"
	// FailItem records the item as failed, and the task continues.
	FailItem Reaction = "fail_item"
	// SkipItem records the item as skipped, and the task continues.
	SkipItem Reaction = "skip_item"
	// PauseTask pauses the task, until a person resumes it. An item has failed then; a batch is rolled back, and is tried
	// again after the resume. Of a bucket or a range it pauses the whole task, and so does StopTask.
	PauseTask Reaction = "pause_task"
	// StopTask ends the task as a requested stop does: what was done stays. An item has failed then; a batch is rolled back.
	StopTask Reaction = "stop_task"
	// FailTask rolls the batch back and ends the task in FAILURE.
	FailTask Reaction = "fail_task"
)

// reactions are all reactions.
var reactions = []Reaction{RetryBatch, DeferItem, FailItem, SkipItem, PauseTask, StopTask, FailTask}

// ofItem reports whether a reaction decides what becomes of an item.
func (r Reaction) ofItem() bool { return r == DeferItem || r == FailItem || r == SkipItem }

const (
	// MaxEntries is how many entries a strategy can have.
	MaxEntries = 50
	// MaxTries is how often an item can be tried.
	MaxTries = 100
	// defaultTries is the default of [OnError.Tries].
	defaultTries = 3
	// maxDelay is the longest wait before a round.
	maxDelay = 365 * 24 * time.Hour
	maxCode  = 100
)

// Check returns what is wrong with a strategy; nil for none.
func (s Strategy) Check() error {
	if len(s) > MaxEntries {
		return fmt.Errorf("the strategy has %d entries, more than %d", len(s), MaxEntries)
	}
	var deferring *OnError
	for i := range s {
		e := &s[i]
		if problem := e.problem(); problem != "" {
			return fmt.Errorf("entry %d of the strategy: %s", i+1, problem)
		}
		if e.Of == "" && e.Class == "" && len(e.Codes) == 0 && !e.Do.ofItem() && i < len(s)-1 {
			return fmt.Errorf("entry %d of the strategy is never used: entry %d before it matches every error", i+2, i+1)
		}
		switch {
		case e.Do != DeferItem:
		case deferring == nil:
			deferring = e
		case deferring.First != e.First || deferring.next() != e.next():
			return fmt.Errorf("entry %d of the strategy: it defers items for other times than an entry before it, and a task tries its deferred items again in rounds: give both the same First and Next", i+1)
		}
	}
	return nil
}

// problem says what is wrong with an entry; "" if nothing is.
func (e *OnError) problem() string {
	switch {
	case e.Of != "" && e.Of != Item && e.Of != Batch:
		return fmt.Sprintf("Of is %.50q: use %s or %s", e.Of, Item, Batch)
	case e.Class != "" && e.Class != Transient && e.Class != Permanent:
		return fmt.Sprintf("Class is %.50q: use %s or %s", e.Class, Transient, Permanent)
	case e.Do == "":
		return "it has no reaction: set Do to " + join(reactions)
	case !slices.Contains(reactions, e.Do):
		return fmt.Sprintf("Do is %.50q: use %s", e.Do, join(reactions))
	case e.Do != DeferItem && (e.First != 0 || e.Next != 0 || e.Tries != 0):
		return fmt.Sprintf("First, Next and Tries are for %s, and Do is %s", DeferItem, e.Do)
	case e.First == 0 && (e.Next != 0 || e.Tries != 0):
		return "it has Next or Tries and no First: set First, or leave out all three for the delays of the kind"
	case e.First < 0 || e.Next < 0 || e.First > maxDelay || e.Next > maxDelay:
		return fmt.Sprintf("it defers items for %v and then %v: use times from 1ns to %v", e.First, e.next(), maxDelay)
	case e.Tries != 0 && (e.Tries < 2 || e.Tries > MaxTries):
		return fmt.Sprintf("Tries is %d: use 2 to %d, the first try included", e.Tries, MaxTries)
	}
	for _, c := range e.Codes {
		if c == "" || len(c) > maxCode || strings.ContainsRune(c, 0) {
			return fmt.Sprintf("%.50q is no code: use 1 to %d bytes", c, maxCode)
		}
	}
	return ""
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Error is what a [Strategy] matches.
type Error struct {
	Of    Of
	Class Class
	Codes []string // what [OnError.Codes] may name
	// Taken: Take has returned the item; of a batch: its items.
	Taken bool
}

// React returns the entry that decides about an error, and false if the error is treated as without a strategy.
func (s Strategy) React(to Error) (OnError, bool) {
	for _, e := range s {
		if e.matches(to) {
			return e, true
		}
	}
	return OnError{}, false
}

func (e *OnError) matches(to Error) bool {
	switch {
	case e.Of != "" && e.Of != to.Of, e.Class != "" && e.Class != to.Class:
		return false
	case !to.Taken && (e.Do == DeferItem || to.Of == Batch && e.Do.ofItem()):
		return false
	}
	return len(e.Codes) == 0 || slices.ContainsFunc(to.Codes, func(code string) bool { return slices.Contains(e.Codes, code) })
}

// Delays returns how long a task waits before each round over its deferred items; nil if no entry says it.
func (s Strategy) Delays() []time.Duration {
	var delays []time.Duration
	for i := range s {
		if e := &s[i]; e.First > 0 {
			for n := len(delays); n < e.LastTry()-1; n++ {
				delays = append(delays, e.next())
			}
			delays[0] = e.First
		}
	}
	return delays
}

// LastTry returns the number of the last try of an item that the entry defers.
func (e *OnError) LastTry() int {
	switch {
	case e.First == 0:
		return math.MaxInt
	case e.Tries == 0:
		return defaultTries
	}
	return e.Tries
}

func (e *OnError) next() time.Duration {
	if e.Next == 0 {
		return e.First
	}
	return e.Next
}

// String returns the entry in a few words, such as "defer_item after 30m0s, then 6h0m0s, 3 tries on transient errors of an item".
func (e OnError) String() string {
	var b strings.Builder
	b.WriteString(string(e.Do))
	if e.First > 0 {
		fmt.Fprintf(&b, " after %v, then %v, %d tries", e.First, e.next(), e.LastTry())
	}
	b.WriteString(" on ")
	if e.Class == "" {
		b.WriteString("any error")
	} else {
		fmt.Fprintf(&b, "a %s error", e.Class)
	}
	if e.Of != "" {
		fmt.Fprintf(&b, " of %s", map[Of]string{Item: "an item", Batch: "a batch"}[e.Of])
	}
	if len(e.Codes) > 0 {
		b.WriteString(" with code " + join(e.Codes))
	}
	return b.String()
}
