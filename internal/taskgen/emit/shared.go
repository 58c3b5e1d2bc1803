package emit

import (
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// sharedPackage is a generated package with the marshalling code of types that
// several kinds store, all declared in one package.
type sharedPackage struct {
	path, name string            // of the generated package: .../gen/targetsjson, targetsjson
	declares   string            // name of the package that declares the types: targets
	types      []*model.Type     // sorted by source
	titles     map[string]string // of types, by their source
}

// sharing says which types are marshalled in a package of their own.
type sharing struct {
	packages []*sharedPackage          // sorted by the path of the declaring package
	byType   map[string]*sharedPackage // by the source of the type
}

// share finds the types that more than one executor stores. Instances of generic
// types are not among them: their arguments may be declared in a package that
// imports the generic type's, and the generated packages would import each other.
func share(executors []*model.Executor, genPath string) sharing {
	stored := map[string]int{}
	byDeclaring := map[string][]*model.Type{}
	taken := map[string]bool{}
	for _, x := range executors {
		taken[x.Package()] = true
		for _, t := range model.Reachable(x) {
			if !t.Named || !ownFunctions(t) || strings.Contains(t.Source, "[") {
				continue
			}
			if stored[t.Source]++; stored[t.Source] == 2 {
				declaring := model.Marked.FindString(t.Source)
				byDeclaring[declaring] = append(byDeclaring[declaring], t)
			}
		}
	}
	s := sharing{byType: map[string]*sharedPackage{}}
	for _, declaring := range sortedKeys(byDeclaring) {
		base := model.Marked.FindStringSubmatch(declaring)[2]
		lower := strings.ToLower(base) // Go refuses two paths that differ only in case
		p := &sharedPackage{declares: base, name: lower + "json", types: byDeclaring[declaring], titles: map[string]string{}}
		for n := 2; taken[p.name]; n++ {
			p.name = fmt.Sprintf("%sjson%d", lower, n)
		}
		taken[p.name] = true
		p.path = genPath + "/" + p.name
		slices.SortFunc(p.types, func(a, b *model.Type) int { return strings.Compare(a.Source, b.Source) })
		for _, t := range p.types {
			s.byType[t.Source], p.titles[t.Source] = p, t.Title
		}
		s.packages = append(s.packages, p)
	}
	return s
}

func sortedKeys(m map[string][]*model.Type) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// local returns the types that an executor's own package marshals: all that it
// stores but the shared ones and what only they hold.
func (s sharing) local(x *model.Executor) []*model.Type {
	var roots []*model.Type
	for _, r := range x.Roots() {
		roots = append(roots, r.Type)
	}
	return s.reach(roots, nil)
}

// all returns the types that a shared package marshals: its own, and those
// without a package that they hold, such as lists.
func (s sharing) all(p *sharedPackage) []*model.Type { return s.reach(p.types, p) }

// reach returns the types reached from others without entering those that belong
// to another package than own.
func (s sharing) reach(from []*model.Type, own *sharedPackage) (all []*model.Type) {
	seen := map[string]bool{}
	var visit func(t *model.Type)
	visit = func(t *model.Type) {
		if t == nil || seen[t.Source] {
			return
		}
		if in, shared := s.byType[t.Source]; shared && in != own {
			return
		}
		seen[t.Source] = true
		all = append(all, t)
		visit(t.Elem)
		for _, f := range t.Fields {
			visit(f.Type)
		}
	}
	for _, t := range from {
		visit(t)
	}
	return all
}

// marshalling returns the body of a shared package's file.
func (p *sharedPackage) marshalling(s sharing) string {
	types := s.all(p)
	out := newPrinter(types, s, p)
	out.functions(types)
	return out.b.String()
}
