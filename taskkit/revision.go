package taskkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"taskkit.dev/internal/errclass"
)

// Upgrade makes what one revision of a kind wrote readable by the next. Each
// function takes the JSON of revision From and returns that of the revision
// after it; nil is a part that needs nothing. They are chained from the revision
// that was stored to the one now, and what comes out is decoded as strictly as
// anything. taskgen asks for them when a change needs one.
type Upgrade struct {
	From                int
	Spec, State, Result UpgradeFunc
}

// UpgradeFunc makes JSON of one revision into JSON of the next.
type UpgradeFunc func(old json.RawMessage) (json.RawMessage, error)

// part is what of a task is read.
type part string

const (
	partSpec   part = "spec"
	partState  part = "state"
	partResult part = "result"
)

// of returns the upgrade's function for a part.
func (u Upgrade) of(p part) UpgradeFunc {
	switch p {
	case partSpec:
		return u.Spec
	case partState:
		return u.State
	default:
		return u.Result
	}
}

// revisions is what a kind can read: the one place where stored JSON of any age
// becomes a value.
type revisions struct {
	kind     string
	reads    []int // ascending, the present one last
	upgrades map[int]Upgrade
}

// newRevisions checks what a definition says of its revisions. It panics on what
// makes no sense, as [NewKind] does.
func newRevisions(kind string, reads []int, upgrades []Upgrade) revisions {
	r := revisions{kind: kind, reads: slices.Sorted(slices.Values(reads)), upgrades: map[int]Upgrade{}}
	now := r.reads[len(r.reads)-1]
	for _, u := range upgrades {
		if _, twice := r.upgrades[u.From]; twice || u.From == now || !slices.Contains(r.reads, u.From) {
			panic(fmt.Sprintf("taskkit: kind %s cannot upgrade from revision %d: it reads %v, and each but the last has one upgrade at most", kind, u.From, r.reads))
		}
		r.upgrades[u.From] = u
	}
	return r
}

// read decodes what was stored at a revision, and reports whether a function of
// the user's has changed it on the way.
func read[T any](r *revisions, p part, revision int, stored []byte, decode func([]byte, *T) error, v *T) (upgraded bool, err error) {
	if !slices.Contains(r.reads, revision) {
		return false, &RevisionError{Kind: r.kind, Revision: revision, Known: r.reads}
	}
	data := json.RawMessage(stored)
	for _, from := range r.reads {
		u := r.upgrades[from].of(p)
		if from < revision || u == nil {
			continue
		}
		upgraded = true
		data, err = protect(u, bytes.Clone(data))
		if err == nil {
			err = checkJSON(data)
		}
		if err != nil {
			return true, fmt.Errorf("upgrade the %s of kind %s from revision %d: %w", p, r.kind, from, err)
		}
	}
	switch err := decode(data, v); {
	case err != nil && upgraded:
		return true, fmt.Errorf("upgrade the %s of kind %s from revision %d: what came of it cannot be read: %w", p, r.kind, revision, err)
	case err != nil:
		return false, fmt.Errorf("decode %s of revision %d: %w", p, revision, err)
	}
	return upgraded, nil
}

// protect calls an upgrade function, which is the user's and may panic.
func protect(u UpgradeFunc, old json.RawMessage) (_ json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errclass.Panic(v)
		}
	}()
	return u(old)
}

// readSpec decodes the spec of a task. One that a function of the user's has
// changed is validated anew.
func (k *Kind[Spec, State]) readSpec(revision int, stored []byte, v *Spec) error {
	upgraded, err := read(&k.revisions, partSpec, revision, stored, k.def.Spec.Decode, v)
	if err == nil && upgraded {
		err = validateSpec(k.def.Name, k.def.Secrets, v)
	}
	return err
}

// readState decodes the state of a task. That of a task without a checkpoint is
// {}, at any revision, and zero.
func (k *Kind[Spec, State]) readState(revision int, stored []byte, v *State) error {
	if len(stored) == 0 || string(stored) == "{}" {
		return nil
	}
	_, err := read(&k.revisions, partState, revision, stored, k.def.State.Decode, v)
	return err
}

// Specimen is JSON as a database may hold it, of one part ("spec", "state" or
// "result") and revision of a kind.
type Specimen struct {
	Part     string
	Revision int
	JSON     string
}

// CheckSpecimens reports whether everything that may be stored of a kind can be
// read: each specimen is upgraded and decoded as the runtime would. taskgen
// writes a test that calls it. The codec is that of the kind's result, or nil.
func CheckSpecimens[Spec, State any](k *Kind[Spec, State], decodeResult func([]byte) error, specimens []Specimen) error {
	for _, s := range specimens {
		var (
			err error
			raw = []byte(s.JSON)
		)
		switch part(s.Part) {
		case partSpec:
			_, err = read(&k.revisions, partSpec, s.Revision, raw, k.def.Spec.Decode, new(Spec))
		case partState:
			err = k.readState(s.Revision, raw, new(State))
		case partResult:
			if decodeResult == nil {
				return fmt.Errorf("taskkit: kind %s: a specimen of a result, and no way to read one", k.Name())
			}
			_, err = read(&k.revisions, partResult, s.Revision, raw, func(data []byte, _ *struct{}) error { return decodeResult(data) }, new(struct{}))
		default:
			err = fmt.Errorf("a specimen of %q", s.Part)
		}
		if err != nil {
			return fmt.Errorf("taskkit: kind %s, %s of revision %d: %s: %w", k.Name(), s.Part, s.Revision, s.JSON, err)
		}
	}
	return nil
}
