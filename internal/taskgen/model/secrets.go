package model

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Secrets returns where the secrets of a task are: JSON pointers over an object
// of its spec and its state, sorted, in which * is any element or key. Such as
// /spec/token and /spec/rows/*/ssn.
func (x *Executor) Secrets() []string {
	var all []string
	for path := range x.secretFields("spec", x.Spec) {
		all = append(all, path)
	}
	for path := range x.secretFields("state", x.State) {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// secretFields returns the fields of a part that are secret, by their pointers.
// A type inside itself is not entered again.
func (x *Executor) secretFields(part string, root *Type) map[string]Field {
	found := map[string]Field{}
	open := map[string]bool{}
	var visit func(t *Type, path string)
	visit = func(t *Type, path string) {
		if t == nil || open[t.Source] {
			return
		}
		open[t.Source] = true
		defer delete(open, t.Source)
		switch t.Form {
		case Struct:
			for _, f := range t.Fields {
				if below := path + "/" + f.JSON; f.Secret {
					found[below] = f
				} else {
					visit(f.Type, below)
				}
			}
		case Slice, Array, Map:
			visit(t.Elem, path+"/*")
		case Pointer:
			visit(t.Elem, path)
		default: // holds no fields
		}
	}
	visit(root, "/"+part)
	return found
}

// checkSecrets finds secrets in places where they cannot be kept.
func checkSecrets(x *Executor) (wrong []Diagnostic) {
	if x.Targets != nil {
		list := "/spec/" + strings.ReplaceAll(x.Targets.JSON, ".", "/")
		for path, f := range x.secretFields("spec", x.Spec) {
			if Within(list, path) || Within(path, list) {
				wrong = append(wrong, Diagnostic{
					Pos: f.Pos, Message: fmt.Sprintf("%s is a secret, and the targets of a task are shown with its items", path),
					Remedy: "drop the tag, or keep the secret outside of the list that targets=" + x.Targets.JSON + " names",
				})
			}
		}
	}
	if x.Result != nil {
		for path, f := range x.secretFields("result", x.Result) {
			wrong = append(wrong, Diagnostic{
				Pos: f.Pos, Message: fmt.Sprintf("%s is a secret in a result, which the caller could never read", path),
				Remedy: "drop the tag, or leave it out of the result",
			})
		}
	}
	told := map[token.Position]bool{}
	for _, t := range Reachable(x) {
		if t.Form != Struct || !InsideItself(t) {
			continue
		}
		for _, f := range x.secretFields("", t) {
			if told[f.Pos] {
				continue
			}
			told[f.Pos] = true
			wrong = append(wrong, Diagnostic{
				Pos: f.Pos, Message: fmt.Sprintf("%s is a secret inside %s, which contains itself: it could be at any depth", f.Go, t.Title),
				Remedy: "keep it outside of that type, by the id of the element it belongs to",
			})
		}
	}
	return wrong
}

// InsideItself reports whether values of a type may hold others of it.
func InsideItself(t *Type) bool {
	seen := map[string]bool{}
	var holds func(at *Type) bool
	holds = func(at *Type) bool {
		if at == nil || seen[at.Source] {
			return at != nil && at.Source == t.Source
		}
		seen[at.Source] = true
		if holds(at.Elem) {
			return true
		}
		return slices.ContainsFunc(at.Fields, func(f Field) bool { return holds(f.Type) })
	}
	return holds(t)
}
