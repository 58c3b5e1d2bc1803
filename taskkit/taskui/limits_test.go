package taskui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// The page Limits has the permits that are taken with links to their tasks, and sets and clears limits, whatever is in their keys.
func TestLimits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/limits", http.StatusOK).wants(t, "No limit is in use or set.")

		x := opsExecutor{make(chan struct{}), make(chan struct{})}
		stop := e.start(t, x)
		running := e.submit(t, []int{0}, taskkit.WithLimit("tenant/7", 1))
		<-x.begun
		waits := e.submit(t, []int{1}, taskkit.WithLimit("tenant/7", 1))
		a := e.page(t, "/tasks/limits", http.StatusOK)
		for deadline := time.Now().Add(testdb.Patience(t)); !strings.Contains(a.body, `class="number">1</td>`) && time.Now().Before(deadline); {
			a = e.page(t, "/tasks/limits", http.StatusOK)
		}
		a.wants(t, "<bdi>tenant/7</bdi>", `<span class="status paused">1 of 1</span> <small>by its tasks`, `href="./task/`+running.String()+`"`, `class="number">1</td>`)
		close(x.proceed)
		for _, id := range []taskkit.ID{running, waits} {
			if _, err := e.client.Wait(t.Context(), id, nil); err != nil {
				t.Fatal(err)
			}
		}
		stop()

		for _, key := range []string{"tenant/7", "a//b", "..", hostile, "with space+plus%", "ключ"} {
			e.done(t, e.operate(t, "/tasks/limits", "limits/set", `name="limit"`, url.Values{"limit": {key}, "atmost": {" 3 "}, "reason": {hostile}})).wants(t, "The limit is set.")
			if u := e.limit(t, key); u.AtMost != 3 || !u.Set {
				t.Errorf("%q: %+v", key, u)
			}
		}
		a = e.page(t, "/tasks/limits", http.StatusOK)
		a.wants(t, shown, "set by an operator", "of 3</span>", "<bdi>a//b</bdi>")
		a.lacks(t, hostile)
		e.done(t, e.operate(t, "/tasks/limits", "limits/set", `value="a%2F%2Fb"`, url.Values{"atmost": {"5"}}))
		if u := e.limit(t, "a//b"); u.AtMost != 5 {
			t.Errorf("%+v", u)
		}
		for _, n := range []int{6, 7} { // with the key of one page
			form := url.Values{"key": {"k"}, "limit": {"a//b"}, "atmost": {fmt.Sprint(n)}}.Encode()
			if a := e.do(t, http.MethodPost, "/tasks/limits/set", form); a.status != http.StatusSeeOther || e.limit(t, "a//b").AtMost != n {
				t.Errorf("%d, %+v, want %d", a.status, e.limit(t, "a//b"), n)
			}
		}
		for _, key := range []string{"a//b", hostile, "with space+plus%", "ключ"} {
			e.done(t, e.operate(t, "/tasks/limits", "limits/clear", `value="`+strings.ReplaceAll(url.QueryEscape(key), "+", "&#43;")+`"`, nil)).wants(t, "What the tasks themselves say holds again.")
			if u := e.limit(t, key); u.Set {
				t.Errorf("%q: %+v", key, u)
			}
		}
		for _, atMost := range []string{"", "0", "-1", "x", "1e3", "99999999999999999999", hostile} {
			a := e.operate(t, "/tasks/limits", "limits/set", `name="limit"`, url.Values{"limit": {"k"}, "atmost": {atMost}})
			if a.status != http.StatusUnprocessableEntity {
				t.Errorf("at most %q: %d", atMost, a.status)
			}
			checkPage(t, atMost, a)
		}
		for _, key := range []string{"", "taskkit.own", strings.Repeat("x", 300)} {
			if a := e.operate(t, "/tasks/limits", "limits/set", `name="limit"`, url.Values{"limit": {key}, "atmost": {"1"}}); a.status != http.StatusUnprocessableEntity {
				t.Errorf("key %.20q: %d", key, a.status)
			}
		}
		e.refusesOthers(t, "limits", "limits/set", "limits/clear")
	})
}

// limit returns a limit as the database has it.
func (e *env) limit(tb testing.TB, key string) taskops.LimitUse {
	tb.Helper()
	all, err := e.ops().Limits(tb.Context(), "", 100)
	if err != nil {
		tb.Fatal(err)
	}
	for _, u := range all {
		if u.Key == key {
			return u
		}
	}
	return taskops.LimitUse{}
}

// The list of limits is read page by page, after any key.
func TestLimitsPages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		for i := range 51 {
			if err := e.ops().SetLimit(t.Context(), fmt.Sprintf("k/%02d //?&=", i), 1); err != nil {
				t.Fatal(err)
			}
		}
		first := e.page(t, "/tasks/limits", http.StatusOK)
		first.wants(t, "k/49", `rel="next"`)
		first.lacks(t, "k/50")
		next := unescape.Replace(firstOf(t, nextLink, first.body))
		second := e.page(t, "/tasks/"+strings.TrimPrefix(next, "./"), http.StatusOK)
		second.wants(t, "k/50")
		second.lacks(t, "k/49", `rel="next"`)
		e.page(t, "/tasks/limits?after="+strings.Repeat("x", 1001), http.StatusNotFound)
	})
}
