package load

import (
	"fmt"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"taskkit.dev/internal/taskgen/model"
)

// upgradeName is the form of all names of upgrade functions.
var upgradeName = regexp.MustCompile(`^Upgrade(\w*?)(Spec|State|Result)([0-9]+)$`)

// upgrades finds the upgrade functions in a package and gives them to their
// executors. One that belongs to none is reported: it would never be called.
func (r *resolver) upgrades(pkg *packages.Package, found []*model.Executor) {
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		f, isFunc := scope.Lookup(name).(*types.Func)
		m := upgradeName.FindStringSubmatch(name)
		if !isFunc || m == nil {
			continue
		}
		at := slices.IndexFunc(found, func(x *model.Executor) bool { return model.UpgradeInfix(x.Name) == m[1] })
		if at < 0 {
			r.report(problem{
				f.Pos(), name + " belongs to no executor of this package",
				"name it Upgrade + the executor's type without \"Executor\" + Spec, State or Result + the revision to upgrade from",
			})
			continue
		}
		if got := strings.ReplaceAll(shape(f.Signature()), "encoding/json.", "json."); got != "func(json.RawMessage) (json.RawMessage, error)" {
			r.report(problem{f.Pos(), fmt.Sprintf("%s has the signature %s", name, got), "change it to " + model.UpgradeShape})
			continue
		}
		from, err := strconv.Atoi(m[3])
		if err != nil || m[3] != strconv.Itoa(from) {
			r.report(problem{f.Pos(), name + " does not end in a revision", "write the number without leading zeros"})
			continue
		}
		found[at].Upgrades = append(found[at].Upgrades, model.Upgrade{
			Part: strings.ToLower(m[2]), From: from, Name: name, Pos: r.position(f.Pos()),
			Source: fmt.Sprintf("«%s|%s».%s", pkg.PkgPath, pkg.Types.Name(), name),
		})
	}
	for _, x := range found {
		slices.SortFunc(x.Upgrades, func(a, b model.Upgrade) int {
			if a.From != b.From {
				return a.From - b.From
			}
			return slices.Index(model.Parts, a.Part) - slices.Index(model.Parts, b.Part)
		})
	}
}
