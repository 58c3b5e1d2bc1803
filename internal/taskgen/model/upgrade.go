package model

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
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

// UpgradeShape is what an upgrade function must look like.
const UpgradeShape = "func(old json.RawMessage) (json.RawMessage, error)"

// UpgradeInfix is what the names of an executor's upgrade functions hold, so
// that two executors in a package have functions of their own: nothing for a
// type Executor, and Mailer for Mailer and MailerExecutor.
func UpgradeInfix(typeName string) string { return strings.TrimSuffix(typeName, "Executor") }

// UpgradeFunc returns the name of an executor's upgrade function.
func (x *Executor) UpgradeFunc(part string, from int) string {
	return fmt.Sprintf("Upgrade%s%s%d", UpgradeInfix(x.Name), Upper(part), from)
}

// Upgrade returns the function that takes a part from a revision to the next,
// or nil.
func (x *Executor) Upgrade(part string, from int) *Upgrade {
	for i, u := range x.Upgrades {
		if u.Part == part && u.From == from {
			return &x.Upgrades[i]
		}
	}
	return nil
}

// FieldPosition returns where the field at a path is declared; for one that is gone,
// where the nearest field around it is, or the executor.
func (x *Executor) FieldPosition(part, path string) token.Position {
	at := x.Pos
	for _, r := range x.Roots() {
		if strings.ToLower(r.Name) != part {
			continue
		}
		t := r.Type
		for name := range strings.SplitSeq(strings.NewReplacer("[]", "", "{}", "").Replace(path), ".") {
			for t.Elem != nil {
				t = t.Elem
			}
			i := slices.IndexFunc(t.Fields, func(f Field) bool { return PathName(f.JSON) == name })
			if i < 0 {
				break
			}
			at, t = t.Fields[i].Pos, t.Fields[i].Type
		}
	}
	return at
}
