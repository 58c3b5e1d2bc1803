package taskgen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// evolve holds executors, sorted by kind, against what was generated before. It
// sets their revisions and returns the next lock file, and every change that
// would lose a stored task, by the name of the rule that it breaks.
//
// A kind whose facts have changed gets the next revision. All pairs of
// revisions that follow each other are compared, the old ones too: an upgrade
// function that was once demanded is demanded for ever.
func evolve(executors []*Executor, before *Lock) (*Lock, []Diagnostic) {
	e := evolution{before: before, byKind: map[string]*Executor{}, moved: map[string]bool{}}
	for _, x := range executors {
		e.byKind[x.Kind] = x
	}
	for _, x := range executors {
		e.kind(x)
	}
	for _, k := range before.Kinds {
		if e.byKind[k.Name] == nil && !e.moved[k.Name] {
			e.gone(k)
		}
	}
	slices.SortFunc(e.next.Kinds, func(a, b *LockedKind) int { return cmp.Compare(a.Name, b.Name) })
	return &e.next, e.wrong
}

// evolution is the state of evolve.
type evolution struct {
	before *Lock
	next   Lock
	byKind map[string]*Executor
	moved  map[string]bool // names in before whose history went on under another
	wrong  []Diagnostic
}

func (e *evolution) refuse(x *Executor, rule, remedy, format string, args ...any) {
	e.wrong = append(e.wrong, Diagnostic{
		Pos: x.Pos, Message: rule + ": " + fmt.Sprintf(format, args...), Remedy: remedy,
	})
}

// kind takes one executor on.
func (e *evolution) kind(x *Executor) {
	k := e.history(x)
	if k == nil {
		return
	}
	released := 0
	if len(k.Revisions) > 0 {
		released = k.last().Number
	}
	for _, name := range append(slices.Clone(k.Aliases), k.Reserved...) {
		known := name == x.Kind || slices.Contains(x.Aliases, name) || slices.Contains(x.Reserved, name)
		if slices.Contains(k.Aliases, name) && !known {
			e.refuse(x, KindNoDelete, fmt.Sprintf("put alias=%s back; once no task of that name is left, write reserved=%s", name, name),
				"kind %s has lost its alias %s, whose tasks nobody would run", x.Kind, name)
		}
		if slices.Contains(k.Reserved, name) && slices.Contains(x.Aliases, name) {
			e.refuse(x, KindNoReuse, "use another name", "alias %s was given up before", name)
		}
	}
	reserved := slices.Concat(k.Reserved, x.Reserved)
	slices.Sort(reserved)
	next := &LockedKind{
		Name: x.Kind, Aliases: slices.Sorted(slices.Values(x.Aliases)),
		Reserved: slices.Compact(reserved), Revisions: slices.Clone(k.Revisions),
	}
	if x.Retired {
		next.Phase = Retired
	}
	now := Revision{Number: 1, Facts: facts(x)}
	if n := len(next.Revisions); n > 0 {
		now.Number = next.last().Number
		if now.sum() != next.last().sum() {
			now.Number++
		}
	}
	if len(next.Revisions) == 0 || now.Number > next.last().Number {
		next.Revisions = append(next.Revisions, now)
	}
	x.Revision, x.History = now.Number, next.Revisions
	e.next.Kinds = append(e.next.Kinds, next)
	e.compatible(x, next, released)
}

// history finds what is known of an executor's kind, under its name or, after a
// rename, under an alias. It returns nil after it has refused the name.
func (e *evolution) history(x *Executor) *LockedKind {
	k := e.before.kind(x.Kind)
	for _, alias := range x.Aliases {
		old := e.before.kind(alias)
		switch {
		case old == nil || e.byKind[alias] != nil: // the latter is refused by check
		case k != nil:
			e.refuse(x, AliasNoMerge, "use an alias only for a name that this kind itself had; keep both executors",
				"alias %s of kind %s is a kind with revisions of its own", alias, x.Kind)
			e.moved[alias] = true
		default:
			k = old
			e.moved[alias] = true
		}
	}
	for _, other := range e.before.Kinds {
		for _, name := range append([]string{x.Kind}, x.Aliases...) {
			if other != k && slices.Contains(slices.Concat(other.Aliases, other.Reserved), name) {
				e.refuse(x, KindNoReuse, "use another name", "%s was a name of kind %s", name, other.Name)
				return nil
			}
		}
	}
	if k == nil {
		return &LockedKind{Name: x.Kind}
	}
	if k.Phase == Deleted {
		e.refuse(x, KindNoReuse, "use another name", "kind %s was retired and deleted, and its tasks may still be stored", x.Kind)
		return nil
	}
	return k
}

// gone deals with a kind that has no executor any more.
func (e *evolution) gone(k *LockedKind) {
	next := *k
	switch k.Phase {
	case Retired, Deleted:
		next.Phase = Deleted
	default:
		e.wrong = append(e.wrong, Diagnostic{
			Message: fmt.Sprintf("%s: kind %s is gone, and nobody would run its tasks", KindNoDelete, k.Name),
			Remedy: fmt.Sprintf("put it back; or write alias=%s at the executor that is its new name; or retire it first: "+
				"write retired in its directive, deploy, and delete it once no task is left", k.Name),
		})
	}
	e.next.Kinds = append(e.next.Kinds, &next)
}

// compatible compares each revision with the one before, and demands upgrade
// functions. Only what is newer than the revision released can still be put
// back.
func (e *evolution) compatible(x *Executor, k *LockedKind, released int) {
	for i := 1; i < len(k.Revisions); i++ {
		older, newer := k.Revisions[i-1], k.Revisions[i]
		for _, v := range compareParts(older, newer) {
			if x.upgrade(v.part, older.Number) != nil {
				continue
			}
			where := upper(v.part)
			if v.path != "" && v.path != "." {
				where += "." + v.path
			}
			demand := fmt.Sprintf("write func %s in package %s", strings.Replace(upgradeShape, "func", x.upgradeFunc(v.part, older.Number), 1), x.Dir)
			switch {
			case v.rule == ResultNoDelete: // no type is left to upgrade to
				demand = v.remedy
			case newer.Number > released:
				demand = v.remedy + "; or " + demand
			}
			e.wrong = append(e.wrong, Diagnostic{
				Pos: x.place(v.part, v.path), Remedy: demand,
				Message: fmt.Sprintf("%s: %s of kind %s, from revision %d to %d: %s", v.rule, where, x.Kind, older.Number, newer.Number, v.what),
			})
		}
	}
	for _, u := range x.Upgrades {
		if u.From == x.Revision || !slices.Contains(k.numbers(), u.From) {
			e.wrong = append(e.wrong, Diagnostic{
				Pos:     u.Pos,
				Message: fmt.Sprintf("%s: kind %s has no revision %d before the one now, %d", u.Name, x.Kind, u.From, x.Revision),
				Remedy:  "see " + LockName + " for the revisions, and name the one that it upgrades from",
			})
		}
	}
}
