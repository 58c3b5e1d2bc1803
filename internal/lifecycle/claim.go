package lifecycle

import (
	"strconv"
	"strings"
	"time"
)

// Rank is the first criterion of the order in which tasks are claimed: stalled
// tasks before others, then by priority, then, of those that are not stalled, those with the
// fewest failed tries since their last checkpoint. Among tasks of one rank the one that
// has been due for longest comes first, then the smallest id.
type Rank struct {
	Number   int // see [PostgresRank]; not the place in the order
	Stalled  bool
	Priority int
	Tries    int // 0 of stalled tasks; [mostTries] stands for as many and more
}

// mostTries is the last class of failed tries. While a task that has failed waits in a queue, each
// class is a probe more for each claim; and one that has failed so often waits for long anyway.
const mostTries = 3

// Ranks returns all ranks in the order in which their tasks are claimed. With triedFirst it is
// reversed within each priority: now and then a worker claims so, for otherwise a task that has
// failed would wait for as long as enough new ones are submitted.
func Ranks(triedFirst bool) []Rank {
	var ranks []Rank
	for p := HighestPriority; p <= LowestPriority; p++ {
		ranks = append(ranks, newRank(true, p, 0))
	}
	for p := HighestPriority; p <= LowestPriority; p++ {
		for tries := range mostTries + 1 {
			if triedFirst {
				tries = mostTries - tries
			}
			ranks = append(ranks, newRank(false, p, tries))
		}
	}
	return ranks
}

func newRank(stalled bool, priority, tries int) Rank {
	class := 0
	if !stalled {
		class = min(tries, mostTries) + 1
	}
	return Rank{priority + LowestPriority*class, stalled, priority, min(tries, mostTries)}
}

// PostgresRank is the number of a row's rank in the SQL of PostgreSQL; alias is the alias of the table with a point, or "".
// The index taskkit_claim has this expression, word for word. It is short because PostgreSQL prepares it anew for each
// statement that inserts or changes a task.
func PostgresRank(alias string) string { return rankSQL("LEAST", alias) }

// SQLiteRank is [PostgresRank] in the SQL of SQLite.
func SQLiteRank(alias string) string { return rankSQL("min", alias) }

func rankSQL(least, alias string) string {
	return strings.NewReplacer("{least}", least, "{q}", alias, "{tried}", strconv.Itoa(mostTries+1), "{lowest}", strconv.Itoa(LowestPriority)).Replace(
		"{q}priority + {lowest} * CASE WHEN {q}stalled THEN 0 ELSE {least}({q}attempts + 1, {tried}) END")
}

// Rank returns the number of the task's rank.
func (r Row) Rank() int { return newRank(r.Stalled, r.Priority, r.Attempts).Number }

// RankOrders returns the place of each rank in [Ranks], by its number.
func RankOrders(triedFirst bool) []int {
	ranks := Ranks(triedFirst)
	orders := make([]int, len(ranks)+1)
	for i, r := range ranks {
		orders[r.Number] = i
	}
	return orders
}

// ClaimOrder returns the place of a waiting task in [Ranks]: one with a smaller place is claimed first.
func ClaimOrder(stalled bool, priority, attempts int) int {
	return RankOrders(false)[newRank(stalled, priority, attempts).Number]
}

// RankPriority returns the priority of the tasks that have the rank of this number.
func RankPriority(number int) int { return (number-1)%LowestPriority + 1 }

// StalledRank reports whether stalled tasks have the rank of this number.
func StalledRank(number int) bool { return number <= LowestPriority }

// Claimable reports whether the task may be claimed once it is due.
func (r Row) Claimable() bool { return r.Status == Queued && r.Control != Pause }

// Claim returns the row after a claim by a process. The claim counts as an
// attempt before anything is executed, since a task may kill its worker. Stalled stays,
// for a release that undoes the claim.
func (r Row) Claim(process string, now time.Time) Row {
	r.Status, r.Process, r.Scheduled, r.Started, r.Desc = Scheduling, process, &now, nil, ""
	r.Fence, r.Attempts = r.Fence+1, r.Attempts+1
	return r
}
