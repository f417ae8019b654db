// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// checkJournals undoes the steps of each zone, newest first. Serials must form a chain without gaps, and states and
// changed rows must fit the content.
func (c *check) checkJournals() error {
	// Cuts of child zones are content of the parent, and its steps add and remove them like values of Records.
	cuts := map[string][]*law.CountedCut{}
	for e, cut := range c.cuts {
		cuts[e.parent] = append(cuts[e.parent], cut)
	}
	if err := c.readCondensed(); err != nil {
		return err
	}

	// The keys of a zone lie together: a new UID ends the former zone and begins the next.
	room, done, current := c.layout.Room("journal"), map[string]bool{}, ""
	var b *back
	err := c.eachBackwards(room, func(key string, kv *mvccpb.KeyValue) {
		if uid, _, _ := strings.Cut(key[len(room):], "/"); uid != current {
			b.finish()
			b, current, done[uid] = nil, uid, true
			if z := c.existingZone(key, uid); z != nil {
				// The replay starts at the present definition, as computed from the objects.
				b = &back{check: c, zone: z, older: c.condensed[uid], sets: defineRRsets(z.records, cuts[uid]), n: z.N, serial: z.Serial,
					header: z.Header, state: sethash.State(z.State)}
				c.checkContent(z, b.sets)
			}
		}
		// The journal of an ended zone stays until providers have withdrawn the zone, and is not replayed.
		if b != nil {
			b.readValue(key, kv)
		}
	})
	if err != nil {
		return err
	}

	b.finish()
	// No replay has reported a zone whose journal has no key at all.
	for _, z := range c.zonesByName {
		c.require(done[z.UID], room+z.UID+"/", "S6.8", "no journal", "%d steps", z.N)
	}
	return nil
}

// finish ends the replay of a zone. A trimmed journal may begin later than the zone, but must reach back to the
// condensed step, and contain a step.
func (b *back) finish() {
	if b == nil || b.broken {
		return
	}
	// The condensed step may end exactly where the journal begins.
	b.checkCondensed()
	if x := b.older; x != nil {
		b.reportDamage(x.key, "S7.8", fmt.Sprintf("the steps up to %d", x.Step.N), "a journal that reaches to there; it begins at %d", b.n)
	}
	// Marks alone are no journal: trimming keeps the last step.
	b.require(b.n == 0 || b.steps > 0, b.layout.Room("journal")+b.zone.UID+"/", "S6.8", "no step", "steps up to %d", b.zone.N)
}

type condensed struct {
	journal.Condensed
	key   string
	parts map[uint64]int // number by last step
}

// readCondensed reads condensed steps, and ignores parts without a header, left by a server after a lost race.
func (c *check) readCondensed() error {
	c.condensed = map[string]*condensed{}
	err := eachZoneKey(c, "condensed", func(z *zone, key, rest string, value *json.RawMessage) {
		x, kv := c.condensed[z.UID], &mvccpb.KeyValue{Value: *value}
		// The header's key sorts before the keys of its parts.
		if rest == "" {
			x = &condensed{key: key, parts: map[uint64]int{}}
			// The condensed step leads on from the delivered serial. A header for a former settledSerial is obsolete,
			// no damage.
			if c.parseValue(key, kv, &x.Condensed) && x.From == serial.Serial(z.status.SettledSerial) {
				c.condensed[z.UID] = x
			}
			return
		}

		count, _, _ := strings.Cut(rest, "/")
		n, err := strconv.ParseUint(count, 16, 64)
		var part content.Step
		if err != nil {
			c.reportDamage(key, "S7.8", rest, "condensed/<uid>/<16 hex digits>/<number>")
			return
		}

		// Parts of another step are leftovers of a lost race between servers.
		if c.parseValue(key, kv, &part) && x != nil && n == x.Step.N {
			x.parts[n]++
			x.Step.Removed, x.Step.Added, x.Step.TTLs = append(x.Step.Removed, part.Removed...), append(x.Step.Added, part.Added...),
				append(x.Step.TTLs, part.TTLs...)
		}
	})

	for _, x := range c.condensed {
		n := x.parts[x.Step.N]
		c.require(n == x.Parts, x.key, "S7.8", fmt.Sprintf("%d parts", x.Parts), "%d, which are there", n)
	}

	return err
}

// checkCondensed compares the condensed step of a held-back zone, once the replay has undone all later steps. Undoing
// its rows must lead to the content state of the delivered serial.
func (b *back) checkCondensed() {
	x := b.older
	if x == nil || x.Step.N != b.n {
		return
	}
	b.older = nil
	removed, added := x.Step.Elements()
	state, _ := b.state.Update(added, removed)
	describe := func(from sethash.State, serial serial.Serial, to sethash.State) string {
		return fmt.Sprintf("from serial %d and state %s to serial %d and state %s", x.From, from, serial, to)
	}
	have, want := describe(x.State, x.Step.Serial, x.Step.State), describe(state, b.serial, b.state)
	b.require(have == want, x.key, "S7.8", have, "%s", want)
}

type back struct {
	*check
	zone   *zone
	older  *condensed // nil if there is none, and once it is compared
	sets   map[setKey]*rrset
	n      uint64
	serial serial.Serial
	state  sethash.State
	header content.Header
	steps  int
	broken bool // earlier steps cannot be judged
}

// readValue checks a value of the zone's journal by the kind of its key.
func (b *back) readValue(key string, kv *mvccpb.KeyValue) {
	b.report.Keys++
	_, n, _ := b.layout.ParseStep(key)
	var tx content.Transaction
	switch key {
	case b.layout.Step(b.zone.UID, n):
		if !b.parseValue(key, kv, &tx) {
			b.broken = true
			return
		}
		b.readSteps(key, n, &tx)
	case b.layout.StepSettled(b.zone.UID, n):
		if b.parseValue(key, kv, &tx) {
			isMark := len(tx.Steps) == 0 && tx.After == n && n <= b.zone.N
			b.require(isMark, key, "I2", encodeText(tx), "a mark without steps, after step %d of a zone at step %d", n, b.zone.N)
		}
	default: // such as the mark .gone, which an existing zone does not have
		b.reportDamage(key, "I2", "a key of journal/", "journal/<uid>/<16 hex digits>, perhaps .settled")
	}
}

// readSteps undoes the steps of a transaction, the last first. After an inconsistent step the replay stops, because
// every older step would seem wrong too. Older steps are only counted.
func (b *back) readSteps(key string, n uint64, tx *content.Transaction) {
	// Servers find steps by the last number of a value, the number in the key.
	if len(tx.Steps) == 0 || tx.Steps[len(tx.Steps)-1].N != n {
		b.reportDamage(key, "I2", encodeText(tx), "steps of which the last is %d", n)
		b.broken = true
		return
	}

	identity := content.Identity{View: b.zone.View, Namespace: b.zone.Namespace, Name: b.zone.Name}
	for _, step := range slices.Backward(tx.Steps) {
		b.report.Steps++
		b.steps++
		if b.broken {
			continue
		}
		b.checkCondensed()
		if why := b.undoStep(step); why != "" {
			b.broken = true
			b.reportDamage(key, "I2", encodeText(step), "%s", why)
		}
		// Only the creating transaction has view, namespace and name of the Zone, for servers that follow the journal.
		if step.Creates() {
			b.require(tx.Zone != nil && *tx.Zone == identity, key, "I2", encodeText(tx.Zone), "the identity of %s", b.zone.key)
		}
	}
}

// undoStep checks a step against the definition after the step, and undoes the step. It returns "" or, for the
// operator, the value that the store should have. After such a text the replay cannot go on.
func (b *back) undoStep(step content.Step) string {
	for _, rule := range []struct {
		holds  bool
		format string
		value  any
	}{
		// The step must end at the definition from which the next step starts. Before the step that made the zone, n is
		// 0, so none fits.
		{step.N == b.n, "step %d", b.n},
		{step.Serial == b.serial, "serial %d, from which the next step starts", b.serial},
		{step.Serial != 0, "a serial that is not %d", 0},
		{step.State == b.state, "content state %s, which the definition after it has", b.state},
		{step.Creates() == (step.N == 1), "the zone made in step %d, and only there", 1},
		// RFC 1982: a secondary ignores a serial that is not ahead.
		{step.Creates() || step.Serial.Ahead(step.From), "a serial ahead of %d, where it starts", step.From},
	} {
		if !rule.holds {
			return fmt.Sprintf(rule.format, rule.value)
		}
	}

	// The rows name a broken RRset. The content state proves rows and explicit TTLs together.
	if why := cmp.Or(b.undoHeader(step), b.undoRows(step)); why != "" {
		return why
	}
	removed, added := step.Elements()
	state, err := b.state.Update(added, removed)
	if err != nil {
		return err.Error()
	}

	b.n, b.serial, b.state = step.N-1, step.From, state
	// Before the creating step the zone had no content.
	if step.Creates() && (len(b.sets) > 0 || state != (sethash.State{})) {
		return fmt.Sprintf("nothing before it, not %d RRsets with state %s", len(b.sets), state)
	}
	return ""
}

// undoHeader puts the former header back. It returns "" or a text like undoStep.
func (b *back) undoHeader(step content.Step) string {
	if step.HeaderAfter == nil {
		if step.HeaderBefore != nil {
			return "both headers or none"
		}
		return ""
	}
	// A change of the SOA timers alone has both headers and no rows.
	if !step.HeaderAfter.Equal(b.header) {
		return "the header " + encodeText(b.header)
	}
	// The step that made the zone has no former header.
	b.header = *cmp.Or(step.HeaderBefore, &content.Header{})
	return ""
}

// undoRows takes the added rows of a step out of the zone's RRsets, and puts the removed rows and former TTLs back. It
// returns "" or a text like undoStep.
func (b *back) undoRows(step content.Step) string {
	// Rows and TTL of an RRset are undone separately, so each changed RRset is checked at the end.
	touched := map[setKey]*rrset{}
	at := func(k setKey) *rrset {
		s := b.sets[k]
		if s == nil {
			s = &rrset{}
			b.sets[k] = s
		}
		touched[k] = s
		return s
	}

	for _, row := range step.Added {
		// An added www A 192.0.2.1 must be there after the step. Otherwise a step in between is missing or false.
		s := at(setKey{row.Owner, row.Type})
		i, found := slices.BinarySearch(s.data, row.Data)
		if !found {
			return fmt.Sprintf("%s %s %q added by it to be there after it", row.Owner, row.Type, row.Data)
		}
		s.data = slices.Delete(s.data, i, i+1)
	}

	for _, row := range step.Removed {
		s := at(setKey{row.Owner, row.Type})
		i, found := slices.BinarySearch(s.data, row.Data)
		if found {
			return fmt.Sprintf("%s %s %q removed by it to be gone after it", row.Owner, row.Type, row.Data)
		}
		s.data = slices.Insert(s.data, i, row.Data)
	}

	for _, change := range step.TTLs {
		s := at(setKey{change.Owner, change.Type})
		// A nil TTL means that the RRset did not exist on that side of the step.
		ttl := func(t *content.TTL) content.TTL { return *cmp.Or(t, &content.TTL{}) }
		if s.ttl != ttl(change.After) {
			return fmt.Sprintf("ttl %s of %s %s, which it has after it", s.ttl, change.Owner, change.Type)
		}
		s.ttl = ttl(change.Before)
	}

	for k, s := range touched {
		// Each RRset has a TTL, explicit or inherited, and only an existing RRset has.
		if (len(s.data) == 0) != (s.ttl == content.TTL{}) {
			return fmt.Sprintf("%s %s before it with rows and ttl or with neither, not %d rows and ttl %s", k.owner, k.t, len(s.data),
				s.ttl)
		}
		if len(s.data) == 0 {
			delete(b.sets, k)
		}
	}

	return ""
}

type archive struct {
	history.Archived
	accounts map[string]bool
}

type segmentRange struct {
	first, last uint64
	key         string
}

// historyCheck compares the keys of the zones' history. A step (a numbered change) is first in the zone's journal, with
// the former Record under before/, and later in a compressed segment. The zone's archive holds the number of the last
// step in segments: no segment has a later step, and no key under before/ an earlier one.
type historyCheck struct {
	*check
	archives map[string]*archive // by zone UID
	// ranges holds the steps of each segment, by zone UID and account. An account names the namespace of the Records,
	// and the namespace that caused the changes.
	ranges map[[2]string][]segmentRange
	shares map[string]history.Share // by account, as counted
}

func (c *check) checkHistory() error {
	// Segments and former Records are compared with the archives, and shares with the octets of the segments.
	h := &historyCheck{c, map[string]*archive{}, map[[2]string][]segmentRange{}, map[string]history.Share{}}
	for _, step := range []func() error{h.readArchived, h.checkSegments, h.checkShares, h.checkStates} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (h *historyCheck) readArchived() error {
	room := h.layout.Room("archived")
	return h.eachBetween(room, clientv3.GetPrefixRangeEnd(room), func(key string, kv *mvccpb.KeyValue) {
		h.report.Keys++
		uid, account, _ := h.layout.ParseArchived(key)
		switch {
		case uid == layout.RemovedZones || uid == layout.RemovedFQDNs:
			// These keys find a removed zone by the name of its object, or by its DNS name.
			var of history.Header
			if h.parseValue(key, kv, &of) {
				names := []string{h.layout.ArchivedName(of.Namespace, of.Name), h.layout.ArchivedFQDN(of.FQDN, of.Namespace, of.View)}
				h.require(slices.Contains(names, key), key, "S7.13", fmt.Sprintf("zone %s/%s, %s", of.Namespace, of.Name, of.FQDN), "the "+
					"zone of this key")
			}
		case strings.HasPrefix(account, layout.LeftDelegations):
			// A deleted Delegation is kept for minutes, in case its zone is deleted too.
			isKnown := h.archives[uid] != nil || h.zones[uid] != nil || h.purging[uid]
			h.require(isKnown, key, "S7.13", "a Delegation of zone "+uid, "a zone or an archive")
			h.parseValue(key, kv, &history.OldDelegation{})
		case account == "":
			// The zone's archive sorts before the keys of its accounts.
			var x history.Archived
			if h.parseValue(key, kv, &x) {
				h.archives[uid] = &archive{x, map[string]bool{}}
				h.checkArchive(key, uid, &x)
			}
		case h.archives[uid] == nil:
			h.reportDamage(key, "S7.13", "segments of account "+account, "the archive of zone %s", uid)
		default:
			h.archives[uid].accounts[account] = true
		}
	})
}

// checkArchive compares a zone's archive with the zone.
func (h *historyCheck) checkArchive(key, uid string, x *history.Archived) {
	switch z := h.zones[uid]; {
	// The retention of a zone that is gone counts from Gone, which the purge of its keys sets.
	case x.Gone != 0 || h.purging[uid]:
	case z == nil || z.Pending:
		h.reportDamage(key, "S7.13", "the archive of zone "+uid, "the time at which that zone went")
	default:
		// A zone that comes back counts its steps from 1 again. Offset keeps the numbers of the archive ascending. An
		// Offset beyond Last gives a number beyond each step.
		archived := x.Last - x.Offset
		h.require(archived <= z.N, key, "S7.13", fmt.Sprintf("steps up to %d", archived), "steps up to %d, the zone's last", z.N)
	}
}

func (h *historyCheck) checkSegments() error {
	room := h.layout.Room("history")
	return h.eachBetween(room, clientv3.GetPrefixRangeEnd(room), func(key string, kv *mvccpb.KeyValue) {
		h.report.Keys++
		at, ok := h.layout.ParseSegment(key)
		if !ok {
			h.reportDamage(key, "S7.13", "a key of history/", "history/<account>/<10 hex digits>/<uid>/<16 hex digits>")
			return
		}

		s, err := history.DecodeSegment(kv.Value)
		if err != nil {
			h.reportDamage(key, "S7.13", err.Error(), "a segment")
			return
		}

		share, octets := h.shares[at.Account], int64(len(kv.Key)+len(kv.Value))
		// The octets of bare segments, without values and former Records, are counted separately too.
		if share.Octets += octets; s.Header.Bare {
			share.BareOctets += octets
		}
		h.shares[at.Account] = share
		h.checkSegment(key, at, s)
	})
}

// checkSegment checks a decoded segment against its key, the zone's archive, and the segments checked before. Steps may
// leave gaps, because the steps in between belong to other accounts.
func (h *historyCheck) checkSegment(key string, at layout.SegmentKey, s *history.Segment) {
	first, last := s.Entries[0].Step, s.Entries[len(s.Entries)-1].Step
	here := segmentRange{s.Header.Offset + first.N, s.Header.Offset + last.N, key}
	named := layout.SegmentKey{Account: at.Account, Zone: s.Header.Zone, Time: max(0, last.Time), Last: here.last}
	h.require(named == at, key, "S7.13",
		fmt.Sprintf("steps of zone %s up to %d at %d", s.Header.Zone, here.last, last.Time), "those that the key names")
	for i := range s.Entries {
		step := &s.Entries[i].Step
		h.require(i == 0 || step.N > s.Entries[i-1].Step.N, key, "S7.13", fmt.Sprintf("step %d", step.N), "steps in order")
		// A change without a Record, as of SOA timers, belongs to the namespace of the Zone.
		of := s.Header.Namespace
		if step.Record != nil {
			of = step.Record.Namespace
		}
		// A change of team-a's Record that team-b caused, as by a removed rule, is in team-a's own account or that for
		// team-b.
		accounts := []string{layout.Account(of, of), layout.Account(of, step.CausedBy)}
		h.require(slices.Contains(accounts, at.Account), key, "S7.13",
			fmt.Sprintf("step %d of namespace %s, caused by %q", step.N, of, step.CausedBy), "steps of the key's account")
	}

	zone := h.archives[at.Zone]
	if zone == nil {
		h.reportDamage(key, "S7.13", "a segment", "the archive of zone %s", at.Zone)
		return
	}

	// A step beyond the archive's last would be archived again.
	h.require(zone.accounts[at.Account] && here.last <= zone.Last, key, "S7.13", fmt.Sprintf("steps up to %d of account %s",
		here.last, at.Account), "an archive up to %d of accounts with this one", zone.Last)
	by := [2]string{at.Zone, at.Account}
	for _, other := range h.ranges[by] {
		h.require(max(here.first, other.first) > min(here.last, other.last), key, "S7.13",
			fmt.Sprintf("steps %d to %d", here.first, here.last),
			"steps once, not also in %s", other.key)
	}

	h.ranges[by] = append(h.ranges[by], here)
}

func (h *historyCheck) checkShares() error {
	err := eachKey(h.check, "shares", func(key, account string, s *history.Share) {
		want := h.shares[account]
		delete(h.shares, account)
		// Shrinking may count all octets as bare, so the stored BareOctets may be higher.
		h.require(s.Octets == want.Octets && s.BareOctets >= want.BareOctets, key, "S7.13", fmt.Sprintf("%d octets, %d condensed", s.Octets,
			s.BareOctets), "%d and %d, those of its segments", want.Octets, want.BareOctets)
	})
	for account, s := range h.shares {
		h.reportDamage(h.layout.Share(account), "S7.13", "nothing", "the share of account %s, %d octets", account, s.Octets)
	}
	return err
}

func (h *historyCheck) checkStates() error {
	return eachKey(h.check, "before", func(key, _ string, b *history.Before) {
		_, uid, n, ok := h.layout.ParseBefore(key)
		if !ok {
			h.reportDamage(key, "S7.13", "a key of before/", "before/<namespace>/<uid>/<16 hex digits>")
			return
		}

		z := h.existingZone(key, uid)
		if z == nil {
			return
		}
		archived := uint64(0)
		// A former Record moves into the segment together with its step.
		if x := h.archives[uid]; x != nil && x.Gone == 0 {
			archived = x.Last - x.Offset
		}

		h.require(n > archived && n <= z.N, key, "S7.13", fmt.Sprintf("states before the steps up to %d", n),
			"steps from %d, after the archive, to %d, the zone's last", archived+1, z.N)
		for _, x := range b.Of {
			_, err := history.Unpack(x.State)
			h.require(err == nil && x.N <= n, key, "S7.13", strings.TrimSpace(fmt.Sprintf("the state of %s before step %d %v", x.Name, x.N,
				err)), "a packed state before a step up to %d", n)
		}
	})
}
