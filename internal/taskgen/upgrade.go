package taskgen

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Upgrade is a function written by hand that makes the JSON of one revision
// readable by the next.
type Upgrade struct {
	Part   string // spec, state or result
	From   int
	Source string // the function, as Go source with marks
	Name   string // the function, for people
	Pos    token.Position
}

// upgradeName is the form of all names of upgrade functions.
var upgradeName = regexp.MustCompile(`^Upgrade(\w*?)(Spec|State|Result)([0-9]+)$`)

// upgradeShape is what an upgrade function must look like.
const upgradeShape = "func(old json.RawMessage) (json.RawMessage, error)"

// upgradeInfix is what the names of an executor's upgrade functions hold, so
// that two executors in a package have functions of their own: nothing for a
// type Executor, and Mailer for Mailer and MailerExecutor.
func upgradeInfix(typeName string) string { return strings.TrimSuffix(typeName, "Executor") }

// upgradeFunc returns the name of an executor's upgrade function.
func (x *Executor) upgradeFunc(part string, from int) string {
	return fmt.Sprintf("Upgrade%s%s%d", upgradeInfix(x.Name), upper(part), from)
}

// upgrades finds the upgrade functions in a package and gives them to their
// executors. One that belongs to none is reported: it would never be called.
func (r *resolver) upgrades(pkg *packages.Package, found []*Executor) {
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		f, isFunc := scope.Lookup(name).(*types.Func)
		m := upgradeName.FindStringSubmatch(name)
		if !isFunc || m == nil {
			continue
		}
		at := slices.IndexFunc(found, func(x *Executor) bool { return upgradeInfix(x.Name) == m[1] })
		if at < 0 {
			r.report(problem{
				f.Pos(), name + " upgrades no executor of this package",
				"call it Upgrade, the name of the executor's type without Executor, Spec, State or Result, and a revision",
			})
			continue
		}
		if got := strings.ReplaceAll(shape(f.Signature()), "encoding/json.", "json."); got != "func(json.RawMessage) (json.RawMessage, error)" {
			r.report(problem{f.Pos(), fmt.Sprintf("%s is %s", name, got), "want " + upgradeShape})
			continue
		}
		from, err := strconv.Atoi(m[3])
		if err != nil || m[3] != strconv.Itoa(from) {
			r.report(problem{f.Pos(), name + " names no revision", "write the number without leading zeros"})
			continue
		}
		found[at].Upgrades = append(found[at].Upgrades, Upgrade{
			Part: strings.ToLower(m[2]), From: from, Name: name, Pos: r.position(f.Pos()),
			Source: fmt.Sprintf("«%s|%s».%s", pkg.PkgPath, pkg.Types.Name(), name),
		})
	}
	for _, x := range found {
		slices.SortFunc(x.Upgrades, func(a, b Upgrade) int {
			if a.From != b.From {
				return a.From - b.From
			}
			return slices.Index(parts, a.Part) - slices.Index(parts, b.Part)
		})
	}
}

// upgrade returns the function that takes a part from a revision to the next,
// or nil.
func (x *Executor) upgrade(part string, from int) *Upgrade {
	for i, u := range x.Upgrades {
		if u.Part == part && u.From == from {
			return &x.Upgrades[i]
		}
	}
	return nil
}

// place returns where the field at a path is declared; for one that is gone,
// where the nearest field around it is, or the executor.
func (x *Executor) place(part, path string) token.Position {
	at := x.Pos
	for _, r := range x.roots() {
		if strings.ToLower(r.Name) != part {
			continue
		}
		t := r.Type
		for name := range strings.SplitSeq(strings.NewReplacer("[]", "", "{}", "").Replace(path), ".") {
			for t.Elem != nil {
				t = t.Elem
			}
			i := slices.IndexFunc(t.Fields, func(f Field) bool { return pathName(f.JSON) == name })
			if i < 0 {
				break
			}
			at, t = t.Fields[i].Pos, t.Fields[i].Type
		}
	}
	return at
}
