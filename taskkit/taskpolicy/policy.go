package taskpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policies are the policies of a task. Each is decided by itself, in their order.
//
// They are decided in the transaction of each checkpoint and each failed attempt of the task. If it has
// buckets, ranges, stages or other children, these count too, to any depth, and the policies are decided over the sums. Items
// that a parent has processed itself are not added to these, as in the progress of a task, except where a code is counted. Work that is in
// flight on other workers at that time is still committed. A time is seen at the next checkpoint or failed attempt after
// it: while a task waits, nothing is decided. A checkpoint that ends the task decides nothing. A preview is a task of its own, and
// counts for itself.
type Policies []Policy

// Policy does something when its condition holds, once: it is set again when the condition with its low-water marks does not
// hold any more, see [Items.Low].
type Policy struct {
	// Name is for people: reasons, events and metrics have it. Defaults to the number of the policy, from 1.
	Name string    `json:"name,omitempty"`
	When Condition `json:"when"`
	Do   Action    `json:"do"`
}

// Condition is a condition over what the task has counted. Exactly one of its fields is set.
type Condition struct {
	All []Condition `json:"all,omitempty"` // all of these hold
	Any []Condition `json:"any,omitempty"` // one of these holds
	Not *Condition  `json:"not,omitempty"` // this does not hold

	Items *Items `json:"items,omitempty"` // so many items
	// Attempts: so many attempts have failed since the last progress, of the task or of its children.
	Attempts int64 `json:"attempts,omitempty"`
	// Restarts: policies have restarted the task so often.
	Restarts int64 `json:"restarts,omitempty"`
	// Runs: so much time has passed since the first start of the task.
	Runs time.Duration `json:"runs,omitempty"`
	// Idle: so much time has passed since the last checkpoint that had processed an item, or the first decision.
	Idle time.Duration `json:"idle,omitempty"`
}

// Items is a mark that a counter of items has reached: AtLeast or Percent.
type Items struct {
	// Of is what is counted.
	Of Counter `json:"of"`
	// Code counts only items with this code, if they have failed or were skipped or deferred.
	Code string `json:"code,omitempty"`
	// AtLeast is a number of items.
	AtLeast int64 `json:"at_least,omitempty"`
	// Percent is a share of the processed items.
	Percent float64 `json:"percent,omitempty"`
	// After is how many items must have been processed before the mark counts.
	After int64 `json:"after,omitempty"`
	// Low is the low-water mark, in the unit of AtLeast or Percent. After the policy has fired, it is set again when the counter is
	// below Low. Defaults to the mark itself. Within a Not the mark itself counts.
	Low float64 `json:"low,omitempty"`
}

// Counter is a counter of items.
type Counter string

// The counters.
const (
	Failed    Counter = "failed"
	Skipped   Counter = "skipped"
	Deferred  Counter = "deferred"  // how often items were deferred
	Processed Counter = "processed" // done, failed or skipped
)

// Action is what a policy does.
type Action string

// The actions.
const (
	// Notify records an event of the task and reports it to the observer, and does nothing else.
	Notify Action = "notify"
	// Pause pauses the task with its children, until a person resumes it.
	Pause Action = "pause"
	// Stop ends the task with its children as partial: the rest is left out. A composite task goes on without the rest of a stage
	// that a policy of the stage has stopped.
	Stop Action = "stop"
	// Restart gives the task back: it continues from its checkpoint after the backoff, which doubles with each restart. It is not
	// for tasks with children.
	Restart Action = "restart"
	// Fail ends the task in FAILURE with the code "policy". Of a task with children these are stopped before.
	Fail Action = "fail"
)

var actions = []Action{Notify, Pause, Stop, Restart, Fail}

const (
	// MaxPolicies is how many policies a task can have.
	MaxPolicies = 50
	// maxConditions is how many conditions a policy can have, and maxDepth how deep they may be nested.
	maxConditions, maxDepth = 100, 10
)

// Check returns what is wrong with policies; nil for none.
func (p Policies) Check() error {
	if len(p) > MaxPolicies {
		return fmt.Errorf("there are %d policies, more than %d", len(p), MaxPolicies)
	}
	names := make(map[string]bool)
	for i := range p {
		n, name := 0, p.Title(i)
		problem := p[i].When.problem(&n, 1)
		switch {
		case names[name]:
			problem = "another policy has its name"
		case len(p[i].Name) > maxCode || strings.ContainsRune(p[i].Name, 0):
			problem = fmt.Sprintf("its name has more than %d bytes, or a NUL byte", maxCode)
		case !slices.Contains(actions, p[i].Do):
			problem = fmt.Sprintf("Do is %.50q: use %s", p[i].Do, join(actions))
		case n > maxConditions:
			problem = fmt.Sprintf("it has %d conditions, more than %d", n, maxConditions)
		}
		if problem != "" {
			return fmt.Errorf("policy %s: %s", name, problem)
		}
		names[name] = true
	}
	return nil
}

// Title returns the name of a policy, or its number.
func (p Policies) Title(i int) string {
	if p[i].Name != "" {
		return p[i].Name
	}
	return fmt.Sprint(i + 1)
}

// Restarts reports whether a policy restarts its task.
func (p Policies) Restarts() bool {
	for i := range p {
		if p[i].Do == Restart {
			return true
		}
	}
	return false
}

// problem says what is wrong with a condition; "" if nothing is. It counts conditions in n.
func (c *Condition) problem(n *int, depth int) string {
	set := 0
	for _, is := range []bool{len(c.All) > 0, len(c.Any) > 0, c.Not != nil, c.Items != nil, c.Attempts != 0, c.Restarts != 0, c.Runs != 0, c.Idle != 0} {
		if is {
			set++
		}
	}
	*n++
	switch {
	case depth > maxDepth:
		return fmt.Sprintf("its conditions are nested more than %d deep", maxDepth)
	case set != 1:
		return fmt.Sprintf("a condition has %d of the fields All, Any, Not, Items, Attempts, Restarts, Runs and Idle: set one", set)
	case c.Attempts < 0 || c.Restarts < 0 || c.Runs < 0 || c.Idle < 0:
		return "a condition is negative"
	case c.Items != nil:
		return c.Items.problem()
	}
	for _, list := range [][]Condition{c.All, c.Any} {
		for i := range list {
			if p := list[i].problem(n, depth+1); p != "" {
				return p
			}
		}
	}
	if c.Not != nil {
		return c.Not.problem(n, depth+1)
	}
	return ""
}

func (i *Items) problem() string {
	mark := i.Percent
	if i.AtLeast != 0 {
		mark = float64(i.AtLeast)
	}
	switch {
	case !slices.Contains([]Counter{Failed, Skipped, Deferred, Processed}, i.Of):
		return fmt.Sprintf("Items.Of is %.50q: use failed, skipped, deferred or processed", i.Of)
	case i.Of == Processed && (i.Code != "" || i.Percent != 0):
		return "Items counts processed items, which have no code and no share of themselves: use AtLeast alone"
	case len(i.Code) > maxCode || strings.ContainsRune(i.Code, 0):
		return fmt.Sprintf("Items.Code has more than %d bytes, or a NUL byte", maxCode)
	case (i.AtLeast > 0) == (i.Percent > 0) || i.AtLeast < 0 || !(i.Percent >= 0 && i.Percent <= 100): // NaN too
		return fmt.Sprintf("Items has AtLeast %d and Percent %v: set one of them, AtLeast to 1 or more, or Percent to 100 at most", i.AtLeast, i.Percent)
	case i.After < 0:
		return "Items.After is negative"
	case !(i.Low >= 0 && i.Low <= mark):
		return fmt.Sprintf("Items.Low is %v: use 0 to the mark, %v", i.Low, mark)
	}
	return ""
}

// Facts are what conditions are decided by.
type Facts struct {
	Processed, Failed, Skipped, Deferred int64
	// Codes counts items by what became of them and their code.
	Codes              map[Counter]map[string]int64
	Attempts, Restarts int64
	Runs, Idle         time.Duration
}

// Holds reports whether a condition holds.
func (c *Condition) Holds(f *Facts) bool { return c.holds(f, false, false) }

// Holding reports whether the condition holds with its low-water marks. A policy that has fired is set again when it does not.
func (c *Condition) Holding(f *Facts) bool { return c.holds(f, true, false) }

// holds decides a condition, with the low-water marks. Within a Not these would end what holds, instead of holding it longer.
func (c *Condition) holds(f *Facts, low, not bool) bool {
	switch {
	case c.Not != nil:
		return !c.Not.holds(f, low, !not)
	case c.Items != nil:
		return c.Items.reached(f, low && !not)
	case len(c.Any) > 0:
		for i := range c.Any {
			if c.Any[i].holds(f, low, not) {
				return true
			}
		}
		return false
	case len(c.All) > 0:
		for i := range c.All {
			if !c.All[i].holds(f, low, not) {
				return false
			}
		}
		return true
	case c.Attempts > 0:
		return f.Attempts >= c.Attempts
	case c.Restarts > 0:
		return f.Restarts >= c.Restarts
	case c.Runs > 0:
		return f.Runs >= c.Runs
	case c.Idle > 0:
		return f.Idle >= c.Idle
	}
	return false
}

func (i *Items) reached(f *Facts, low bool) bool {
	n := i.count(f)
	mark := i.Percent
	if i.AtLeast > 0 {
		mark = float64(i.AtLeast)
	}
	if low && i.Low > 0 {
		mark = i.Low
	}
	switch {
	case f.Processed < i.After:
		return false
	case i.AtLeast > 0:
		return float64(n) >= mark
	}
	return f.Processed > 0 && float64(n)*100 >= mark*float64(f.Processed)
}

func (i *Items) count(f *Facts) int64 {
	switch {
	case i.Code != "":
		return f.Codes[i.Of][i.Code]
	case i.Of == Failed:
		return f.Failed
	case i.Of == Skipped:
		return f.Skipped
	case i.Of == Deferred:
		return f.Deferred
	}
	return f.Processed
}

// String returns the policy in a few words, such as "broken mail: pause when failed (mailbox_full) >= 5% after 100".
func (p Policy) String() string {
	text := fmt.Sprintf("%s when %s", p.Do, &p.When)
	if p.Name != "" {
		text = p.Name + ": " + text
	}
	return text
}

// String returns the condition in a few words.
func (c *Condition) String() string {
	join := func(list []Condition, word string) string {
		words := make([]string, len(list))
		for i := range list {
			words[i] = list[i].String()
		}
		return "(" + strings.Join(words, word) + ")"
	}
	switch {
	case len(c.All) > 0:
		return join(c.All, " and ")
	case len(c.Any) > 0:
		return join(c.Any, " or ")
	case c.Not != nil:
		return "not " + c.Not.String()
	case c.Items != nil:
		return c.Items.String()
	case c.Attempts > 0:
		return fmt.Sprintf("failed attempts >= %d", c.Attempts)
	case c.Restarts > 0:
		return fmt.Sprintf("restarts >= %d", c.Restarts)
	case c.Runs > 0:
		return fmt.Sprintf("it runs for %v", c.Runs)
	}
	return fmt.Sprintf("it has no progress for %v", c.Idle)
}

// String returns the mark in a few words.
func (i *Items) String() string {
	text := string(i.Of)
	if i.Code != "" {
		text += " (" + i.Code + ")"
	}
	if i.AtLeast > 0 {
		text += fmt.Sprintf(" >= %d", i.AtLeast)
	} else {
		text += fmt.Sprintf(" >= %v%%", i.Percent)
	}
	if i.After > 0 {
		text += fmt.Sprintf(" after %d", i.After)
	}
	if i.Low > 0 {
		text += fmt.Sprintf(", again below %v", i.Low)
	}
	return text
}
