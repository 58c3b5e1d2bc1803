package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Check holds the executors against each other. It returns them sorted by kind,
// and what is wrong.
func Check(found []*Executor) ([]*Executor, []Diagnostic) {
	var wrong []Diagnostic
	sorted := slices.SortedStableFunc(slices.Values(found), func(a, b *Executor) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), comparePositions(a, b))
	})
	names := map[string]*Executor{}
	packages := map[string]*Executor{}
	claim := func(x *Executor, what, name string) bool {
		other, taken := names[name]
		if !taken {
			names[name] = x
			return true
		}
		wrong = append(wrong, Diagnostic{
			Pos: x.Pos, Remedy: "give one of them another name",
			Message: fmt.Sprintf("%s %q is also at %s", what, name, other.Pos),
		})
		return false
	}
	for _, x := range sorted {
		if !claim(x, "kind", x.Kind) {
			continue
		}
		if other, ok := packages[x.Package()]; ok {
			wrong = append(wrong, Diagnostic{
				Pos: x.Pos, Remedy: "give one of them another name",
				Message: fmt.Sprintf("kind %q would share package %s with %q at %s", x.Kind, x.Package(), other.Kind, other.Pos),
			})
		}
		packages[x.Package()] = x
		if problem := PackageProblem(x.Package()); problem != "" {
			wrong = append(wrong, Diagnostic{
				Pos: x.Pos, Remedy: "give the kind another name, or the packages another suffix with -suffix",
				Message: fmt.Sprintf("the package of kind %q cannot be called %s: %s", x.Kind, x.Package(), problem),
			})
		}
	}
	for _, x := range sorted {
		for _, alias := range x.Aliases {
			claim(x, "alias", alias)
		}
		for _, name := range x.Reserved {
			claim(x, "reserved", name)
		}
	}
	wrong = append(wrong, checkCase(sorted)...)
	for _, x := range sorted {
		wrong = append(append(wrong, checkRules(x)...), checkSecrets(x)...)
	}
	return sorted, wrong
}

// checkCase finds packages that generated code would import, and whose paths differ only in
// case. The go command builds no program with both.
func checkCase(executors []*Executor) (wrong []Diagnostic) {
	paths := map[string]string{} // by themselves in lower case
	for _, x := range executors {
		sources := []string{x.Type}
		for _, t := range Reachable(x) {
			sources = append(sources, t.Source)
		}
		for _, m := range Marked.FindAllStringSubmatch(strings.Join(sources, " "), -1) {
			lower := strings.ToLower(m[1])
			if other, ok := paths[lower]; ok && other != m[1] {
				wrong = append(wrong, Diagnostic{
					Pos: x.Pos, Remedy: "rename the directory of one of them",
					Message: fmt.Sprintf("generated code would import %s and %s, which differ only in case, and the go command builds no program with both", other, m[1]),
				})
				continue
			}
			paths[lower] = m[1]
		}
	}
	return wrong
}

// comparePositions orders executors by where they stand.
func comparePositions(a, b *Executor) int {
	return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line))
}

// SortDiagnostics orders what is wrong by place, once each.
func SortDiagnostics(ds []Diagnostic) []Diagnostic {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ds)
}
