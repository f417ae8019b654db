// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type act struct {
	at    int64
	own   bool
	name  string
	comes bool
}

type brake struct {
	zone Zone
	h    Holding
	sets map[string]bool
	now  int64
	// young is the excess reported to the client.
	young *Excess
}

func newBrake(percent int64) *brake {
	b := &brake{sets: map[string]bool{}}
	b.zone.MaxDeletePercent, b.zone.Serial = percent, 1
	return b
}

// applyAct reports whether a hold begins. It ignores additions of present and removals of absent RRsets.
func (b *brake) applyAct(a act) bool {
	if b.now, b.young = a.at, nil; b.sets[a.name] == a.comes {
		return false
	}
	if b.h.Held == nil {
		b.zone.SettledSerial = b.zone.Serial
	}
	after := b.zone
	if after.Serial++; a.comes {
		after.RRsets++
		b.sets[a.name] = true
	} else {
		after.RRsets--
		delete(b.sets, a.name)
	}
	c := ZoneChange{Zone: &after, Holding: &b.h}
	c.CountDeletions(&Plan{}, &b.zone, &b.zone, CountedStep{Own: a.own}, a.at)
	b.zone, b.h, b.young = *c.Zone, *c.Holding, c.YoungExcess
	return c.BeginsHold
}

// exact is a precise form of the rule about mass deletions: for each content of the last ten minutes, it counts the
// RRsets, by name, that the zone's own namespace has removed and not put back. At least ten RRsets, and more than the
// allowed share of such a content, hold the zone. From then on only that content counts.
type exact struct {
	percent  int
	sets     map[string]bool
	contents []*pastContent
	held     *pastContent
	acts     int
}

// pastContent is the content of a zone until a certain time and number of acts.
type pastContent struct {
	until     int64
	acts      int
	had, lost map[string]bool
}

func (p *pastContent) isExceeded(percent int) bool {
	return len(p.lost) >= 10 && len(p.lost)*100 > percent*len(p.had)
}

func (e *exact) applyAct(a act) (began bool) {
	if e.sets[a.name] == a.comes {
		return false
	}
	e.acts++
	if e.held == nil {
		var counts []*pastContent
		for _, p := range e.contents {
			if a.at-p.until < 600 {
				counts = append(counts, p)
			}
		}
		e.contents = append(counts, &pastContent{a.at, e.acts - 1, maps.Clone(e.sets), map[string]bool{}})
	}
	if e.sets[a.name] = true; !a.comes {
		delete(e.sets, a.name)
	}
	of := e.contents
	if e.held != nil {
		of = []*pastContent{e.held}
	}
	for _, p := range of {
		switch {
		case !p.had[a.name]:
		case a.comes && a.own:
			delete(p.lost, a.name)
		case !a.comes && a.own:
			p.lost[a.name] = true
		case !a.comes && !p.lost[a.name]:
			delete(p.had, a.name) // another namespace's removal leaves every share
		}
		if e.held == nil && a.own && !a.comes && p.isExceeded(e.percent) {
			e.held, began = p, true
		}
	}
	if e.held != nil && !e.held.isExceeded(e.percent) {
		e.held.until, e.contents, e.held = a.at, []*pastContent{e.held}, nil
	}
	return began
}

type trace []act

func (t trace) findFirst(at int64) int {
	return slices.IndexFunc(t, func(a act) bool { return a.at > at })
}

func (t trace) othersSince(at int64) (n int) {
	for _, a := range t[t.findFirst(at):] {
		if !a.own {
			n++
		}
	}
	return n
}

// takenSince returns the RRsets removed by the own namespace since a time, and not put back.
func (t trace) takenSince(at int64) map[string]bool {
	taken, put := map[string]bool{}, map[string]bool{}
	for _, a := range t[t.findFirst(at):] {
		switch {
		case a.comes && taken[a.name]:
			delete(taken, a.name)
		case a.comes:
			put[a.name] = true
		case put[a.name]:
			delete(put, a.name)
		default:
			taken[a.name] = true
		}
	}
	return taken
}

// explainMissed returns the reason why only the exact rule holds a zone for the losses of p, or "" if there is no
// allowed reason.
func (t trace) explainMissed(now int64, p *pastContent) string {
	if t.othersSince(now-1800) > 0 {
		return "others' names"
	}
	there := map[string]bool{}
	for _, a := range t {
		if there[a.name] = true; !a.comes {
			delete(there, a.name)
		}
	}
	for name := range there {
		if !p.had[name] {
			return "replaced by others"
		}
	}
	if t.hasYoung(now, p) {
		return "younger than thirty minutes"
	}
	return ""
}

// hasYoung reports whether p had an RRset younger than thirty minutes.
func (t trace) hasYoung(now int64, p *pastContent) bool {
	from := t.findFirst(now - 1800)
	return slices.ContainsFunc(t[from:max(p.acts, from)], func(a act) bool { return a.comes && p.had[a.name] })
}

// explainAdded returns why only the counting rule holds a zone.
func (t trace) explainAdded(now int64, contents []*pastContent) string {
	taken := t.takenSince(now - 600)
	switch {
	case t.othersSince(now-1800) > 0:
		return "others' names"
	case len(taken) < 10:
		return "fewer than ten"
	case len(t.takenSince(now-1800)) > len(taken):
		return "spread over more than ten minutes"
	case slices.ContainsFunc(contents, func(p *pastContent) bool { return t.hasYoung(now, p) }):
		return "younger than thirty minutes" // fewer RRsets remained throughout, so the share is smaller
	}
	return ""
}

// To detect a mass deletion, the zone keeps only a few counts. They are cheaper than the exact rule over all changes.
// On random histories both give the same result, except for the listed reasons, and each reason occurs.
func TestDeletions_besideTheExactRule_S7_5(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 7))
		compareRules(t, randomTrace(random), 30, seen)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(seen)
	for _, want := range []string{"both", "missed: others' names", "missed: replaced by others", "missed: younger than thirty minutes",
		"added: fewer than ten", "added: spread over more than ten minutes", "added: younger than thirty minutes",
		"ended: both", "ended sooner: as many others"} {
		if seen[want] == 0 {
			t.Errorf("no trace shows %q", want)
		}
	}
}

// compareRules runs a trace until one of the rules holds the zone, or until a hold by both rules ends in one of them.
func compareRules(t *testing.T, all trace, percent int, seen map[string]int) {
	t.Helper()
	b, e := newBrake(int64(percent)), &exact{percent: percent, sets: map[string]bool{}}
	for i, a := range all {
		began, exactBegan := b.applyAct(a), e.applyAct(a)
		if !began && !exactBegan {
			continue
		}
		what, why := "both", "same"
		switch {
		case began && !exactBegan:
			what, why = "added: ", all[:i+1].explainAdded(a.at, e.contents)
		case exactBegan && !began:
			what, why = "missed: ", all[:i+1].explainMissed(a.at, e.held)
		}
		if why == "" {
			t.Errorf("%s nothing explains it: act %d at %d, %+v and %d of %d", what, i, a.at, b.zone.Deletions, len(e.sets), b.zone.RRsets)
			return
		}
		if what != "both" {
			seen[what+why]++
			return
		}
		seen[what]++
		why, ok := compareEnds(b, e, all, i+1)
		if seen[why]++; !ok {
			t.Errorf("one rule ends a hold and the other does not, and nothing explains it: %+v of %+v", b.zone.Deletions, b.h.Held)
		}
		return
	}
	seen["none"]++
}

// compareEnds continues after both rules have begun a hold, until the hold ends in one of them.
func compareEnds(b *brake, e *exact, all trace, from int) (string, bool) {
	held, past, taken := *b.h.Held, e.held, b.h.Held.Had.Own-b.zone.Deletions.Own-len(e.held.lost)
	for i, a := range all[from:] {
		b.applyAct(a)
		e.applyAct(a)
		soFar := all[:from+i+1]
		switch {
		case b.h.Held != nil && e.held != nil:
			continue
		case b.h.Held == nil && e.held == nil:
			return "ended: both", true
		case soFar.othersSince(held.Since-1800) > 0:
			return "ended: others' names", true
		case b.h.Held == nil:
			outside := slices.ContainsFunc(slices.Collect(maps.Keys(b.sets)), func(name string) bool { return !past.had[name] })
			return "ended sooner: as many others", outside
		case len(past.lost) < 10:
			return "ended later: fewer than ten", true
		}
		return "ended later: spread over more than ten minutes, or of a smaller zone", taken > 0 || held.Had.RRsets < len(past.had)
	}
	return "ended: neither", true
}

// randomTrace returns an hour or two in the life of a zone: slow changes, bursts of writes by either namespace, and
// pauses.
func randomTrace(random *rand.Rand) (t trace) {
	now, size := int64(1_000_000), 10+random.IntN(60)
	for i := range size {
		t = append(t, act{now, random.IntN(4) > 0, fmt.Sprint("n", i), true})
	}
	others := random.IntN(2) == 0
	now += int64(random.IntN(3)) * 900
	for range 6 {
		own := !others || random.IntN(3) > 0
		gap, length := int64(1+random.IntN(120)), 1+random.IntN(size)
		first, comes := random.IntN(size), random.IntN(3) == 0
		for i := range length {
			now += random.Int64N(gap)
			name := fmt.Sprint("n", (first+i)%size)
			if random.IntN(8) == 0 {
				name = fmt.Sprint("x", random.IntN(size))
			}
			t = append(t, act{now, own, name, comes != (random.IntN(10) == 0)})
		}
		if now += int64(random.IntN(2400)); random.IntN(3) == 0 {
			now += 3600
		}
	}
	there := map[string]bool{}
	return slices.DeleteFunc(t, func(a act) bool {
		idle := there[a.name] == a.comes
		there[a.name] = a.comes
		return idle
	})
}

func makeBurst(from, gap int64, own, comes bool, prefix string, count int) (t trace) {
	for i := range count {
		t = append(t, act{from + int64(i)*gap, own, fmt.Sprint(prefix, i), comes})
	}
	return t
}

func joinTraces(parts ...trace) (t trace) {
	for _, p := range parts {
		t = append(t, p...)
	}
	return t
}

// The histories are typical user actions. held is the act that begins the hold, or -1 for none, and ends is true if the
// zone is still held at the end. reported is the first act with a warning of young RRsets.
func TestDeletions_ofKnownShapes_S7_5(t *testing.T) {
	t.Parallel()
	const made, hour = 1_000_000, 1_003_600
	zone := makeBurst(made, 0, true, true, "r", 100)
	comes := func(own bool, from, gap int64, prefix string, count int) trace {
		return makeBurst(from, gap, own, true, prefix, count)
	}
	goes := func(own bool, from, gap int64, prefix string, count int) trace {
		return makeBurst(from, gap, own, false, prefix, count)
	}
	for name, test := range map[string]struct {
		then     []trace
		held     int
		ends     bool
		reported int
	}{
		"an import":                      {[]trace{}, -1, true, -1},
		"an import, and its prune":       {[]trace{goes(true, hour, 1, "r", 40)}, 130, false, -1},
		"an import, undone after 4 min":  {[]trace{goes(true, made+240, 1, "r", 90)}, -1, true, 130},
		"an import, and 30 undone":       {[]trace{goes(true, made+240, 1, "r", 30)}, -1, true, -1},
		"undone, and done again":         {[]trace{goes(true, made+60, 0, "r", 100), comes(true, made+90, 0, "r", 100)}, -1, true, 130},
		"deleted and applied again":      {[]trace{goes(true, hour, 0, "r", 100), comes(true, hour+30, 0, "r", 100)}, 130, true, -1},
		"applied first, then pruned":     {[]trace{comes(true, hour, 0, "s", 100), goes(true, hour+9, 0, "r", 100)}, -1, true, 260},
		"a tenth every ten minutes":      {[]trace{goes(true, hour, 60, "r", 60)}, 153, false, -1},
		"a twentieth":                    {[]trace{goes(true, hour, 120, "r", 60)}, -1, true, -1},
		"a third slowly":                 {[]trace{goes(true, hour, 60, "r", 29)}, -1, true, -1},
		"a challenge":                    {[]trace{comes(true, hour, 1, "c", 40), goes(true, hour+90, 1, "c", 40)}, -1, true, -1},
		"challenges":                     {[]trace{comes(true, hour, 1, "c", 90), goes(true, hour+90, 1, "c", 90)}, -1, true, 247},
		"challenges of others":           {[]trace{comes(false, hour, 1, "c", 90), goes(false, hour+90, 1, "c", 90)}, -1, true, -1},
		"undone at once":                 {[]trace{comes(true, hour, 0, "s", 100), goes(true, hour+60, 0, "s", 100)}, -1, true, 260},
		"tenants beside it write 200":    {[]trace{comes(false, hour, 0, "t", 200), goes(true, hour+1, 0, "r", 40)}, 330, false, -1},
		"tenants had 200 for an hour":    {[]trace{comes(false, made, 0, "t", 200), goes(true, hour, 0, "r", 90)}, -1, true, -1},
		"tenants fill it while it waits": {[]trace{goes(true, hour, 0, "r", 40), comes(false, hour, 0, "t", 900)}, 130, false, -1},
	} {
		b, held, reported := newBrake(30), -1, -1
		for i, a := range joinTraces(append([]trace{zone}, test.then...)...) {
			if b.applyAct(a) {
				held = i
			}
			if b.young != nil && reported >= 0 {
				t.Errorf("%s: told at act %d and at act %d", name, reported, i)
			} else if b.young != nil {
				reported = i
			}
		}
		if held != test.held || (b.h.Held == nil) != test.ends || reported != test.reported {
			t.Errorf("%s: held from act %d on, want %d; at the end held %t; told at act %d, want %d", name, held, test.held,
				b.h.Held != nil, reported, test.reported)
		}
	}
}

// The removal of RRsets younger than the counting periods does not hold a zone, but causes a Warning. The Warning comes
// at exactly the deletion that would hold the zone if all RRsets were an hour old.
func TestDeletions_reportsYoung_S7_6(t *testing.T) {
	t.Parallel()
	reported := 0
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 17))
		const made = 600_000 // a period begins here
		size := 5 + random.IntN(40)
		var comes, goes trace
		for i := range size {
			comes = append(comes, act{made, random.IntN(4) > 0, fmt.Sprint("n", i), true})
		}
		for range 2 * size {
			name := fmt.Sprint("n", random.IntN(size))
			own := comes[slices.IndexFunc(comes, func(a act) bool { return a.name == name })].own
			goes = append(goes, act{made + 60, own, name, own && random.IntN(4) == 0})
		}
		goes = slices.DeleteFunc(goes, func(a act) bool { return !a.own })
		percent := int64(random.IntN(101))
		young, old := newBrake(percent), newBrake(percent)
		for _, a := range comes {
			young.applyAct(a)
			old.applyAct(a)
		}
		for i, a := range goes {
			young.applyAct(a)
			a.at += 3600
			if held := old.applyAct(a); held != (young.young != nil) {
				t.Fatalf("seed %d: act %d holds the old zone: %t; told of the young one: %+v", seed, i, held, young.young)
			} else if held {
				reported++
				break
			}
		}
	}
	if reported < 100 {
		t.Errorf("%d of 500 zones are held", reported)
	}
}

// Other namespaces can neither begin nor end a hold, however the clocks run.
func TestDeletions_ofOthers_S7_7(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 11))
		b := newBrake(30)
		for _, a := range randomTrace(random) {
			a.own = false
			if random.IntN(20) == 0 {
				a.at += (random.Int64N(3) - 1) * 365 * 86400
			}
			if b.applyAct(a) {
				t.Fatalf("seed %d: others hold the zone", seed)
			}
		}
		now := b.now + 7200
		for _, a := range joinTraces(makeBurst(now, 0, true, true, "own", 50), makeBurst(now+7200, 0, true, false, "own", 50)) {
			b.applyAct(a)
		}
		if held := b.h.Held != nil; held != (b.zone.Deletions.LeastStocks[1].RRsets*30 < 5000) {
			t.Fatalf("seed %d: 50 of %d RRsets, and held is %t", seed, b.zone.Deletions.LeastStocks[1].RRsets, held)
		}
		for range 200 {
			held := b.h.Held != nil
			b.applyAct(act{b.now + random.Int64N(3600), false, fmt.Sprint("own", random.IntN(60)), random.IntN(2) == 0})
			if (b.h.Held != nil) != held {
				t.Fatalf("seed %d: others change that the zone is held", seed)
			}
		}
	}
}

// A zone is held back if its own namespace removes more than 30 % of the RRsets older than twenty minutes. Writes of
// other namespaces and a clock set back do not prevent this. If a clock goes ahead, the present content counts as old.
func TestDeletions_whateverElse_S7_5(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 13))
		b, now := newBrake(30), int64(1_000_000)
		for _, a := range makeBurst(now, 0, true, true, "r", 40) {
			b.applyAct(a)
		}
		now += 1200 + random.Int64N(7200)
		b.applyAct(act{now, false, "first", true}) // a write with a correct clock makes the others count as old
		for i := range 40 {
			for range random.IntN(6) {
				b.applyAct(act{now, false, fmt.Sprint("t", random.IntN(500)), random.IntN(3) > 0})
			}
			switch random.IntN(8) {
			case 0:
				now -= random.Int64N(365 * 86400)
			case 1:
				now += random.Int64N(20)
			}
			b.applyAct(act{now, true, fmt.Sprint("r", i), false})
			if held := b.h.Held != nil; held != (i >= 12) {
				t.Fatalf("seed %d: %d of 40 are gone, and held is %t: %+v", seed, i+1, held, b.zone.Deletions)
			}
		}
	}
}

func TestDeletions_advanceTo(t *testing.T) {
	t.Parallel()
	at := func(rrsets int) Stock { return Stock{rrsets, rrsets} }
	d := Deletions{Own: 3, PeriodStart: 1000, LeastStocks: [3]Stock{at(5), at(6), at(7)}}
	for _, test := range []struct {
		after time.Duration
		since int64
		want  [3]Stock
	}{
		{0, 1000, [3]Stock{at(4), at(6), at(7)}},
		{599 * time.Second, 1000, [3]Stock{at(4), at(6), at(7)}},
		{10 * time.Minute, 1600, [3]Stock{at(4), at(4), at(6)}},
		{25 * time.Minute, 2200, [3]Stock{at(4), at(4), at(4)}},
		{365 * 24 * time.Hour, 1000 + 365*86400, [3]Stock{at(4), at(4), at(4)}},
		{-time.Second, 999, [3]Stock{at(4), at(6), at(7)}},
		{-365 * 24 * time.Hour, 1000 - 365*86400, [3]Stock{at(4), at(6), at(7)}},
	} {
		got := d.advanceTo(1000+int64(test.after/time.Second), at(4))
		if got.LeastStocks != test.want || got.PeriodStart != test.since || got.Own != 3 {
			t.Errorf("after %s: %+v, want %v since %d", test.after, got, test.want, test.since)
		}
	}
}

// ForeseeHold predicts whether a planned removal would hold the zone as a mass deletion. The present content counts as
// old, as at the commit, and RRsets already lost since the last periods count, too.
func TestForeseeHold_S7_5(t *testing.T) {
	former := Stock{RRsets: 12, Own: 12}
	for _, c := range []struct {
		what        string
		rrsets, own int
		least       [3]Stock
		percent     int64
		taken       int
		holds       bool
	}{
		{"nothing is taken", 12, 12, [3]Stock{}, 30, 0, false},
		{"a share that may go", 12, 12, [3]Stock{}, 30, 3, false},
		{"one more", 12, 12, [3]Stock{}, 30, 4, true},
		{"of a small zone", 9, 9, [3]Stock{}, 30, 9, false},
		{"without a limit", 12, 12, [3]Stock{}, 100, 12, false},
		{"never counted, as of an earlier version", 12, 0, [3]Stock{}, 30, 4, true},
		{"two are gone in this period already", 10, 10, [3]Stock{{RRsets: 10, Own: 10}, former, former}, 30, 2, true},
		{"others' Records count for the size alone", 40, 12, [3]Stock{}, 30, 12, false},
		{"the last NS", 1, 1, [3]Stock{}, 30, -1, true},
		{"the last NS, without a limit", 1, 1, [3]Stock{}, 100, -1, false},
	} {
		z := &Zone{RRsets: c.rrsets, Deletions: Deletions{Own: c.own, LeastStocks: c.least}}
		z.MaxDeletePercent = c.percent
		if excess := z.ForeseeHold(max(c.taken, 0), c.taken < 0); (excess != nil) != c.holds {
			t.Errorf("%s: %v", c.what, excess)
		}
	}
}
