package taskui

import (
	"context"
	"strconv"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

const limitsOfPage = 50

// limitsView is the data of the page Limits.
type limitsView struct {
	Limits []limitView
	Next   string
	New    *operatorForm // to set a limit that is not in the list; nil: the person may not
}

type limitView struct {
	taskops.LimitUse

	Waits              string // how many tasks wait for a permit
	Full               bool
	More               int64  // tasks with a permit besides those that are listed
	From               string // who says so
	SetForm, ClearForm *operatorForm
}

const (
	setLimit   = "limits/set"
	clearLimit = "limits/clear"
)

// limitActions are the actions of the page.
func limitActions() []action {
	return []action{
		{path: setLimit, op: taskhttp.OpChangeLimits, do: func(r *request, reason string) (string, string, error) {
			key, err := r.named("limit")
			if err != nil {
				return "", "", err
			}
			atMost, err := strconv.Atoi(strings.TrimSpace(r.PostForm.Get("atmost")))
			if err != nil || atMost < 1 {
				return "", "", &taskkit.OptionError{Option: "At most", Problem: "use a number from 1; to hold tasks, pause their queue"}
			}
			return "limits", "limit-set", r.d.ops.SetLimit(r.Context(), key, atMost, r.audit(reason)...)
		}},
		{path: clearLimit, op: taskhttp.OpChangeLimits, do: changing("limit", "limits", "limit-cleared", func(o *taskops.Operator, ctx context.Context, key string, opts ...taskkit.RequestOption) error {
			return o.SetLimit(ctx, key, 0, opts...)
		})},
	}
}

// limits reads the page Limits.
func limits(r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	found, err := r.d.ops.Limits(r.Context(), after, limitsOfPage+1)
	if err != nil {
		return nil, err
	}
	v, may := &limitsView{}, r.mayOperate(r.Context(), taskhttp.OpChangeLimits)
	if len(found) > limitsOfPage {
		found = found[:limitsOfPage]
		v.Next = nextPath("limits", found[limitsOfPage-1].Key)
	}
	atMost := field{Name: "atmost", Label: "At most", Kind: "number", Help: "tasks at once, whatever the tasks say"}
	for _, u := range found {
		l := limitView{
			LimitUse: u, Waits: atLeast(u.Waiting, !u.MoreWaiting), Full: u.Executing >= int64(u.AtMost), More: u.Executing - int64(len(u.Tasks)),
			From: "by its tasks",
		}
		if u.Set {
			l.From = "set by an operator"
		}
		if may {
			filled := atMost
			filled.Value = strconv.Itoa(u.AtMost)
			form := newForm(setLimit, "Set", "So many tasks with this key execute at once. Fewer than execute now take effect as they end.", hidden("limit", u.Key)).with(filled)
			l.SetForm = &form
		}
		if may && u.Set {
			form := newForm(clearLimit, "Clear", "What the tasks themselves say holds again.", hidden("limit", u.Key))
			l.ClearForm = &form
		}
		v.Limits = append(v.Limits, l)
	}
	if may {
		form := newForm(setLimit, "Set another limit", "So many tasks with this key execute at once.").with(field{Name: "limit", Label: "Key"}, atMost)
		v.New = &form
	}
	return v, nil
}
