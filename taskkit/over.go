package taskkit

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"taskkit.dev/internal/store"
)

// emptyTargets is the name of the list of targets if the spec has none in it.
func (k *Kind[Spec, State, Result]) emptyTargets(s *Spec) string {
	if k.def.Targets.Len(s) == 0 {
		return k.def.Targets.Field
	}
	return ""
}

// WithTargets submits the task over a frozen set of targets, instead of those in the list
// of the spec that the kind's directive names with targets=FIELD. The set may be of
// any length up to 10 million, without duplicates. It is stored beside the task in the caller's
// transaction, page by page as the sequence is read, and never changes. [Take]
// returns its elements in their order. Duplicates are left out.
//
// The list of the spec must be empty. Rules of validation for the list itself do not
// apply to the set; rules for its elements, after dive, apply to each. A Validate
// method of the spec sees the list empty.
//
// An empty set, one that has more than a million targets and does not ascend, and
// one with a target of more than 1,024 bytes of JSON is a *[TargetsError]; a target that breaks a
// rule is a *[SpecError] with its position. Targets of another type than the list's, a
// nil sequence, a kind without a list of targets, SubmitMany of several specs and
// [WithCoalescing] are an *[OptionError]. After an error nothing is stored on a *sql.DB; a caller's
// transaction must be rolled back. Other handles that commit each statement by
// itself, such as a pool of pgx, cannot be used.
func WithTargets[T any](ids iter.Seq[T]) SubmitOption {
	return submitOption(func(s *submission) {
		if s.over != nil {
			s.fail("WithTargets", "used twice: a task has one set, so join the two sequences")
		}
		s.over = &overSeq[T]{ids}
	})
}

// over is a sequence of targets without its type.
type over interface {
	elem() reflect.Type
	none() bool // there is no sequence
	// pages returns the targets in lists of type []T of a page each, with the
	// position of their first.
	pages() iter.Seq2[int, any]
}

type overSeq[T any] struct{ ids iter.Seq[T] }

func (*overSeq[T]) elem() reflect.Type { return reflect.TypeFor[T]() }

func (o *overSeq[T]) none() bool { return o.ids == nil }

func (o *overSeq[T]) pages() iter.Seq2[int, any] {
	return func(yield func(int, any) bool) {
		page, position := make([]T, 0, store.TargetsPerPage), 0
		for id := range o.ids {
			if page = append(page, id); len(page) < store.TargetsPerPage {
				continue
			}
			if !yield(position, page) {
				return
			}
			position, page = position+len(page), page[:0]
		}
		if len(page) > 0 {
			yield(position, page)
		}
	}
}

// checkOver returns what is wrong with the option WithTargets for a submission of specs.
func (k *Kind[Spec, State, Result]) checkOver(s *submission, specs []Spec) error {
	t := k.def.Targets
	switch o := s.over; {
	case o == nil:
		return nil
	case t.Get == nil:
		return &OptionError{"WithTargets", fmt.Sprintf("kind %s has no list of targets: name the list of its spec in the directive, //taskkit:executor %s targets=FIELD, and run go generate", k.def.Name, k.def.Name)}
	case o.elem() != t.Elem:
		return &OptionError{"WithTargets", fmt.Sprintf("the targets are of type %v, and those of kind %s, in the list %s of its spec, are of type %v", o.elem(), k.def.Name, t.Field, t.Elem)}
	case o.none():
		return &OptionError{"WithTargets", "nil is no sequence: give it the targets, such as slices.Values of a list"}
	case len(specs) > 1:
		return &OptionError{"WithTargets", "a set of targets is that of one task: submit the specs one by one"}
	case s.Reference != "":
		return &OptionError{"WithCoalescing", "used together with WithTargets: a waiting task with a frozen set cannot be replaced"}
	}
	if n := t.Len(&specs[0]); n > 0 {
		return &OptionError{"WithTargets", fmt.Sprintf("the spec has %d targets in its list %s: leave it empty", n, t.Field)}
	}
	return nil
}

// newTargets returns what Insert stores of the targets of a spec.
func (k *Kind[Spec, State, Result]) newTargets(o over, spec *Spec) *store.NewTargets {
	return &store.NewTargets{Field: k.def.Targets.Field, Keys: func(yield func([]byte, error) bool) {
		e := k.targetEncoder(spec)
		for position, page := range o.pages() {
			keys, err := e.encode(page, position)
			if err != nil {
				yield(nil, err)
				return
			}
			for key, err := range elements(keys) {
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
	}}
}

// targetEncoder encodes targets as the list of a spec, so that the codec of the spec
// applies.
type targetEncoder[Spec, State, Result any] struct {
	kind   *Kind[Spec, State, Result]
	whole  Spec // with the targets as its list
	raw    []byte
	around *members
}

func (k *Kind[Spec, State, Result]) targetEncoder(spec *Spec) *targetEncoder[Spec, State, Result] {
	return &targetEncoder[Spec, State, Result]{kind: k, whole: *spec}
}

// encode checks the rules for some targets, a list of the kind's type, and returns them
// as a JSON array, which is valid until the next call. The first is at a position of the set.
func (e *targetEncoder[Spec, State, Result]) encode(list any, position int) ([]byte, error) {
	k := e.kind
	if err := k.validateTargets(list, position); err != nil {
		return nil, err
	}
	k.def.Targets.Set(&e.whole, list)
	var err error
	if e.raw, err = k.def.Spec.Append(e.raw[:0], &e.whole); err != nil {
		return nil, &SpecError{Kind: k.def.Name, Err: err}
	}
	if e.around == nil {
		if e.around, err = membersAlong(e.raw, k.def.Targets.Field); err != nil {
			return nil, err
		}
	}
	return e.around.between(e.raw)
}

// validateTargets checks the rules for the elements of a page. The first of them is
// at a position of the set.
func (k *Kind[Spec, State, Result]) validateTargets(page any, position int) error {
	t := k.def.Targets
	rules := elementRules(reflect.TypeFor[Spec](), t.Field)
	if rules == "" {
		return nil
	}
	invalid, err := checkElements(page, rules)
	if err != nil {
		return &SpecError{Kind: k.def.Name, Err: err}
	}
	if len(invalid) == 0 {
		return nil
	}
	list := reflect.ValueOf(page)
	return tagError(k.def.Name, k.def.Secrets, invalid, func(f validator.FieldError) location {
		p := locate(list, f.StructNamespace())
		if i, err := strconv.Atoi(p.names[0]); err == nil {
			p.names[0] = strconv.Itoa(position + i)
		}
		p.names = append(strings.Split(t.Field, "."), p.names...)
		return p
	})
}

// elementRules returns the rules for the elements of a list of a spec, from dive on,
// or "".
func elementRules(spec reflect.Type, list string) string {
	name, rest, nested := strings.Cut(list, ".")
	if spec.Kind() != reflect.Struct {
		return ""
	}
	for _, f := range reflect.VisibleFields(spec) {
		if jsonName(f) != name {
			continue
		}
		rules := strings.Split(f.Tag.Get("validate"), ",")
		if nested {
			if slices.Contains(rules, "-") || slices.Contains(rules, "structonly") {
				return "" // what is in it is not validated
			}
			return elementRules(f.Type, rest)
		}
		if i := slices.Index(rules, "dive"); i >= 0 {
			return strings.Join(rules[i:], ",")
		}
	}
	return ""
}

// decodeTargets decodes a page of frozen targets by decoding the spec with the page
// as its list, so that the codec and the upgrades of the spec apply.
func (k *Kind[Spec, State, Result]) decodeTargets(revision int, spec []byte, field string, keys []byte) (list any, n int, err error) {
	around, err := membersAlong(spec, field)
	if err != nil {
		return nil, 0, err
	}
	whole, err := k.DecodeSpec(revision, around.with(keys))
	if err != nil {
		return nil, 0, err
	}
	return k.def.Targets.Get(&whole), k.def.Targets.Len(&whole), nil
}
