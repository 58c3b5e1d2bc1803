package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// Evolve holds executors, sorted by kind, against what was generated before. It
// sets their revisions and returns the next lock file, and every change that
// would lose a stored task, by the name of the rule that it breaks.
//
// A kind whose facts have changed gets the next revision. All pairs of
// revisions that follow each other are compared, the old ones too: an upgrade
// function that was once demanded is demanded for ever.
func Evolve(executors []*model.Executor, before *Lock) (*Lock, []model.Diagnostic) {
	e := evolution{before: before, byKind: map[string]*model.Executor{}, moved: map[string]bool{}}
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
	byKind map[string]*model.Executor
	moved  map[string]bool // names in before whose history went on under another
	wrong  []model.Diagnostic
}

func (e *evolution) refuse(x *model.Executor, rule, remedy, format string, args ...any) {
	e.wrong = append(e.wrong, model.Diagnostic{
		Pos: x.Pos, Message: rule + ": " + fmt.Sprintf(format, args...), Remedy: remedy,
	})
}

// kind compares one executor with the lock file and adds its kind to the next one.
func (e *evolution) kind(x *model.Executor) {
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
			e.refuse(x, KindNoDelete, fmt.Sprintf("restore alias=%s; once no task of that name is left, replace it by reserved=%s", name, name),
				"kind %s no longer has the alias %s, and no executor would run its tasks", x.Kind, name)
		}
		if slices.Contains(k.Reserved, name) && slices.Contains(x.Aliases, name) {
			e.refuse(x, KindNoReuse, "use another name", "alias %s is reserved, because it was removed before", name)
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
	now := model.Revision{Number: 1, Facts: facts(x)}
	if n := len(next.Revisions); n > 0 {
		now.Number = next.last().Number
		keepWords(now.Facts, next.last())
		if !now.SameShape(next.last()) {
			now.Number++
		}
	}
	if len(next.Revisions) == 0 || now.Number > next.last().Number {
		next.Revisions = append(next.Revisions, now)
	}
	e.compatible(x, next, released)
	x.Revision, x.History = now.Number, next.Revisions
	e.next.Kinds = append(e.next.Kinds, next)
}

// history finds what is known of an executor's kind, under its name or, after a
// rename, under an alias. It returns nil after it has refused the name.
func (e *evolution) history(x *model.Executor) *LockedKind {
	k := e.before.kind(x.Kind)
	for _, alias := range x.Aliases {
		old := e.before.kind(alias)
		switch {
		case old == nil || e.byKind[alias] != nil: // the latter is refused by check
		case k != nil:
			e.refuse(x, AliasNoMerge, "use an alias only for a former name of this kind, and keep both executors",
				"alias %s of kind %s is another kind with its own revisions", alias, x.Kind)
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

// gone handles a kind that no longer has an executor.
func (e *evolution) gone(k *LockedKind) {
	next := *k
	switch k.Phase {
	case Retired, Deleted:
		next.Phase = Deleted
	default:
		e.wrong = append(e.wrong, model.Diagnostic{
			Message: fmt.Sprintf("%s: kind %s was removed, and no executor would run its tasks", KindNoDelete, k.Name),
			Remedy: fmt.Sprintf("restore it; or, if it was renamed, write alias=%s in the directive of its executor; or retire it first: "+
				"write retired in its directive, deploy, and delete it once no task is left", k.Name),
		})
	}
	e.next.Kinds = append(e.next.Kinds, &next)
}

// compatible compares each revision with the one before, and requires upgrade
// functions. Only a change that is newer than the released revision can still be
// undone.
func (e *evolution) compatible(x *model.Executor, k *LockedKind, released int) {
	for i := 1; i < len(k.Revisions); i++ {
		older, newer := k.Revisions[i-1], k.Revisions[i]
		for _, v := range compareParts(older, newer) {
			if x.Upgrade(v.part, older.Number) != nil || v.overridable && e.allowed(x, &k.Revisions[i], older.Number, v) {
				continue
			}
			where := model.Upper(v.part)
			if v.path != "" && v.path != "." {
				where += "." + v.path
			}
			demand := fmt.Sprintf("write func %s in package %s", strings.Replace(model.UpgradeShape, "func", x.UpgradeFunc(v.part, older.Number), 1), x.Dir)
			switch {
			case v.rule == ResultNoDelete: // no type is left to upgrade to
				demand = v.remedy
			case newer.Number > released:
				demand = v.remedy + "; or " + demand
			}
			if v.overridable {
				demand += fmt.Sprintf("; or, if no stored task breaks it, %sallow %s %s from=%d REASON below the directive of the executor", model.Prefix, v.at(), v.rule, older.Number)
			}
			e.wrong = append(e.wrong, model.Diagnostic{
				Pos: x.FieldPosition(v.part, v.path), Remedy: demand,
				Message: fmt.Sprintf("%s: %s of kind %s, from revision %d to %d: %s", v.rule, where, x.Kind, older.Number, newer.Number, v.what),
			})
		}
	}
	for _, a := range x.Allowed {
		if !slices.Contains(excepted, a.Rule) {
			e.wrong = append(e.wrong, model.Diagnostic{
				Pos: a.Pos, Message: fmt.Sprintf("the exception is to %s, and there are none to that", a.Rule),
				Remedy: "write " + strings.Join(excepted, " or "),
			})
			continue
		}
		if !slices.ContainsFunc(k.Revisions[1:], func(r model.Revision) bool { return r.Allows(a.Path, a.Rule) && follows(k, a.From, r) }) {
			e.wrong = append(e.wrong, model.Diagnostic{
				Pos:     a.Pos,
				Message: fmt.Sprintf("the exception allows nothing: no change of %s after revision %d breaks %s, or it is one that cannot be decoded", a.Path, a.From, a.Rule),
				Remedy:  "remove it; what cannot be decoded needs an upgrade function",
			})
		}
	}
	for _, u := range x.Upgrades {
		if u.From == k.last().Number || !slices.Contains(k.numbers(), u.From) {
			e.wrong = append(e.wrong, model.Diagnostic{
				Pos:     u.Pos,
				Message: fmt.Sprintf("%s: kind %s has no revision %d before the current one, %d", u.Name, x.Kind, u.From, k.last().Number),
				Remedy:  "look up the revisions in " + Name + ", and use the one to upgrade from in the name",
			})
		}
	}
}

// excepted are the rules to which there may be exceptions.
var excepted = []string{FieldNoNewRequire, LimitNoTighten, EnumValueNoDelete}

// allowed reports whether a change is an exception, by the lock file or by the
// source, and puts it into the revision. Once there it stays, and the line in the
// source may go.
func (e *evolution) allowed(x *model.Executor, newer *model.Revision, from int, v violation) bool {
	if newer.Allows(v.at(), v.rule) {
		return true
	}
	i := slices.IndexFunc(x.Allowed, func(a model.Allowed) bool { return a.Path == v.at() && a.Rule == v.rule && a.From == from })
	if i < 0 {
		return false
	}
	newer.Facts = append(slices.Clip(newer.Facts), model.Fact{Part: model.AllowPart, Path: v.at(), Type: v.rule, Words: strings.Fields(x.Allowed[i].Reason)})
	slices.SortFunc(newer.Facts, compareFacts)
	return true
}

// at returns the path of a violation with its part.
func (v violation) at() string { return v.part + "." + v.path }

// follows reports whether a revision comes next after a number.
func follows(k *LockedKind, number int, r model.Revision) bool {
	i := slices.Index(k.numbers(), number)
	return i >= 0 && i+1 < len(k.Revisions) && k.Revisions[i+1].Number == r.Number
}
