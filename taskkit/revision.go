package taskkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"taskkit.dev/internal/classify"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskkind"
)

// part is one of the stored values of a task.
type part string

const (
	partSpec   part = "spec"
	partState  part = "state"
	partResult part = "result"
)

// of returns the function of an upgrade for the part.
func (p part) of(u taskkind.Upgrade) taskkind.UpgradeFunc {
	switch p {
	case partSpec:
		return u.Spec
	case partState:
		return u.State
	default:
		return u.Result
	}
}

// revisions decodes stored JSON of every revision that a kind can read.
type revisions struct {
	kind     string
	reads    []int // ascending, the present one last
	upgrades map[int]taskkind.Upgrade
	secrets  bool // the kind has some
}

// newRevisions checks the revisions of a definition. Like [NewKind] it panics when
// they are inconsistent.
func newRevisions(kind string, reads []int, upgrades []taskkind.Upgrade) revisions {
	r := revisions{kind: kind, reads: slices.Sorted(slices.Values(reads)), upgrades: map[int]taskkind.Upgrade{}}
	now := r.reads[len(r.reads)-1]
	for _, u := range upgrades {
		if _, twice := r.upgrades[u.From]; twice || u.From == now || !slices.Contains(r.reads, u.From) {
			panic(fmt.Sprintf("taskkit: kind %s cannot upgrade from revision %d: it reads %v, and each but the last has one upgrade at most", kind, u.From, r.reads))
		}
		r.upgrades[u.From] = u
	}
	return r
}

// read decodes what was stored at a revision, and reports whether an upgrade
// function has changed it.
func read[T any](r *revisions, p part, revision int, stored []byte, decode func([]byte, *T) error, v *T) (upgraded bool, err error) {
	if !slices.Contains(r.reads, revision) {
		return false, &RevisionError{Kind: r.kind, Revision: revision, Known: r.reads}
	}
	data := json.RawMessage(stored)
	for _, from := range r.reads {
		u := p.of(r.upgrades[from])
		if from < revision || u == nil {
			continue
		}
		upgraded = true
		data, err = protect(u, bytes.Clone(data))
		if err == nil {
			err = r.checkUpgraded(data)
		}
		if err != nil {
			return true, fmt.Errorf("upgrade the %s of kind %s from revision %d: %w", p, r.kind, from, err)
		}
	}
	switch err := decode(data, v); {
	case err != nil && upgraded:
		return true, fmt.Errorf("upgrade the %s of kind %s from revision %d: the outcome cannot be read: %w", p, r.kind, revision, err)
	case err != nil:
		return false, fmt.Errorf("decode %s of revision %d: %w", p, revision, err)
	}
	return upgraded, nil
}

// checkUpgraded checks what an upgrade function returned. Where the secrets of an earlier
// revision are is not known, so that the error of a kind with secrets names no place.
func (r *revisions) checkUpgraded(data []byte) error {
	err := taskjson.CheckStorable(data)
	if e, ok := errors.AsType[*taskjson.Error](err); ok && r.secrets {
		return fmt.Errorf("not storable as JSON: %s: %s", e.Problem, e.Detail)
	}
	return err
}

// protect calls an upgrade function of the user's, which may panic.
func protect(u taskkind.UpgradeFunc, old json.RawMessage) (_ json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = classify.Panic(v)
		}
	}()
	return u(old)
}

// readSpec decodes the spec of a task. A spec that an upgrade function has changed
// is validated again. Its list of targets may be empty, since the task may have a
// frozen set.
func (k *Kind[Spec, State, Result]) readSpec(revision int, stored []byte, v *Spec) error {
	upgraded, err := read(&k.revisions, partSpec, revision, stored, k.def.Spec.Decode, v)
	if err == nil && upgraded {
		err = validateSpec(k.def.Name, k.def.Secrets, v, k.emptyTargets(v))
	}
	return err
}

// readState decodes the state of a task. Without a checkpoint the state is {} at
// any revision, and its value is zero.
func (k *Kind[Spec, State, Result]) readState(revision int, stored []byte, v *State) error {
	if len(stored) == 0 || string(stored) == "{}" {
		return nil
	}
	_, err := read(&k.revisions, partState, revision, stored, k.def.State.Decode, v)
	return err
}

// DecodeSpec decodes a spec that was stored at a revision, after the upgrades that
// it needs. It does not validate it. A revision that the kind cannot read is a
// *[RevisionError].
func (k *Kind[Spec, State, Result]) DecodeSpec(revision int, stored []byte) (Spec, error) {
	var v Spec
	_, err := read(&k.revisions, partSpec, revision, stored, k.def.Spec.Decode, &v)
	return v, err
}

// DecodeState decodes a state as [Kind.DecodeSpec] does a spec.
func (k *Kind[Spec, State, Result]) DecodeState(revision int, stored []byte) (State, error) {
	var v State
	err := k.readState(revision, stored, &v)
	return v, err
}

// DecodeResult decodes a result as [Kind.DecodeSpec] does a spec.
func (k *Kind[Spec, State, Result]) DecodeResult(revision int, stored []byte) (Result, error) {
	var v Result
	_, err := read(&k.revisions, partResult, revision, stored, k.def.Result.Decode, &v)
	return v, err
}
