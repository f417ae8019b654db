// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const maxForeign = 256

const maxTransfer = 256 << 20

type contents struct {
	sets  map[delivery.RRsetKey]delivery.RRset
	names map[name.Name][]rdata.Type
}

// fetchZone leaves out records outside the zone or made by a signing server.
func (w *work) fetchZone(ctx context.Context) (contents, error) {
	text, err := transfer.Receive(ctx, transfer.Source{
		Server: w.config.TransferServer, Zone: w.plan.Zone, Key: &w.config.Key, Dial: w.config.Dial, Wait: w.wait, Limit: maxTransfer,
	})
	if err != nil {
		return contents{}, w.explainNoAnswer(w.config.TransferServer, err)
	}

	w.proven = true
	held := contents{map[delivery.RRsetKey]delivery.RRset{}, map[name.Name][]rdata.Type{}}

	for rr, err := range zonefile.Read(bytes.NewReader(text), zonefile.ReadOptions{Origin: w.plan.Zone}) {
		if err != nil {
			// An unreadable record is not from this zone, and stays at the server.
			var line *zonefile.LineError
			if errors.As(err, &line) {
				continue
			}
			return contents{}, delivery.Errorf(delivery.ReasonServerError, "what %s handed out: %w", w.config.TransferServer, err)
		}

		switch rr.Type {
		case rdata.RRSIG, rdata.NSEC, rdata.NSEC3, rdata.NSEC3PARAM:
			continue
		}

		key := delivery.RRsetKey{Name: rr.Name, Type: rr.Type}
		if w.isServerOwned(key) || !w.plan.Zone.Encloses(rr.Name) {
			continue
		}

		set, ok := held.sets[key]
		if !ok {
			set = delivery.RRset{Name: rr.Name, Type: rr.Type, TTL: rr.TTL}
			held.names[rr.Name] = append(held.names[rr.Name], rr.Type)
		}
		set.Data = append(set.Data, rr.Data)
		held.sets[key] = set
	}
	return held, nil
}

func (c contents) rrset(key delivery.RRsetKey) delivery.RRset {
	if set, ok := c.sets[key]; ok {
		return set
	}
	return delivery.RRset{Name: key.Name, Type: key.Type}
}

func sameData(a, b delivery.RRset) bool {
	return slices.Equal(slices.Sorted(slices.Values(a.Data)), slices.Sorted(slices.Values(b.Data)))
}

func sameRRset(a, b delivery.RRset) bool {
	return sameData(a, b) && (a.TTL == b.TTL || len(a.Data) == 0)
}

func subtractData(a, b delivery.RRset) delivery.RRset {
	gone := map[string]bool{}
	for _, data := range b.Data {
		gone[data] = true
	}
	a.Data = slices.DeleteFunc(slices.Clone(a.Data), func(data string) bool { return gone[data] })
	return a
}

// findDifferences returns the changes from the server's content to the whole zone. Foreign RRsets in place of the
// zone's fail with a Conflict. RRsets of the server alone stay.
func (w *work) findDifferences(held contents) []delivery.Change {
	var changes []delivery.Change
	for want := range w.plan.All {
		key := want.Key()
		present := held.rrset(key)
		switch {
		case w.isServerOwned(key), sameRRset(present, want):
		case w.mayReplace(present, delivery.Change{Before: delivery.RRset{Name: key.Name, Type: key.Type}, After: want}):
			changes = append(changes, delivery.Change{Before: present, After: want})
		default:
			w.failConflict(key, "an RRset of this name and type", present)
		}
	}
	return w.dropAliasConflicts(changes, held)
}

// findRemovals returns the changes that remove the plan's RRsets from the server, record by record. Records of other
// writers stay, even in an RRset of the zone.
func (w *work) findRemovals(held contents) []delivery.Change {
	changes := []delivery.Change{}
	seen := map[delivery.RRsetKey]bool{}
	remove := func(change delivery.Change) {
		key := change.After.Key()
		if w.isServerOwned(key) || seen[key] {
			return
		}
		seen[key] = true
		present := held.rrset(key)
		if left := w.subtractWritten(present, change); len(left.Data) < len(present.Data) {
			changes = append(changes, delivery.Change{Before: present, After: left})
		}
	}
	for desired := range w.plan.All {
		remove(delivery.Change{Before: desired, After: desired})
	}
	for _, change := range w.plan.Changes {
		remove(change)
	}
	return changes
}

// compareZone returns the drift of the server's content, without RRsets that the server owns (SOA, apex NS).
func (w *work) compareZone(held contents) delivery.Drift {
	var d delivery.Drift

	left := maps.Clone(held.sets)
	for want := range w.plan.All {
		key := want.Key()
		if w.isServerOwned(key) {
			continue
		}
		present, ok := left[key]
		delete(left, key)
		switch {
		case !ok:
			d.Missing = append(d.Missing, want)
		case !sameRRset(present, want):
			d.Differing = append(d.Differing, want)
		}
	}

	for _, key := range slices.SortedFunc(maps.Keys(left), delivery.RRsetKey.Compare) {
		d.Foreign = append(d.Foreign, left[key])
	}
	return d
}

// reviseChanges computes the changes again for the server's present content. RRsets that are right already are left
// out, and foreign RRsets fail with a Conflict.
func (w *work) reviseChanges(changes []delivery.Change, held contents) []delivery.Change {
	var todo []delivery.Change
	for _, change := range changes {
		key := change.After.Key()
		present := held.rrset(key)
		switch {
		case sameRRset(present, change.After):
		// A removed RRset loses only the records that the zone wrote.
		case len(change.After.Data) == 0:
			if left := w.subtractWritten(present, change); len(left.Data) < len(present.Data) {
				todo = append(todo, delivery.Change{Before: present, After: left})
			}
		case w.mayReplace(present, change):
			todo = append(todo, delivery.Change{Before: present, After: change.After})
		default:
			w.failConflict(key, "an RRset of this name and type", present)
		}
	}
	return w.dropAliasConflicts(todo, held)
}

// failKnownConflicts asks whether the server still has the foreign data found last, by an update of prerequisites
// alone.
func (w *work) failKnownConflicts(ctx context.Context, changes []delivery.Change) ([]delivery.Change, error) {
	held := contents{map[delivery.RRsetKey]delivery.RRset{}, map[name.Name][]rdata.Type{}}
	var conceded, rest []delivery.Change

	w.mu.Lock()
	known := w.Provider.foreign[w.plan.UID]
	w.mu.Unlock()
	ask, octets := w.newUpdate(nil), 0

	for _, change := range changes {
		foreign, ok := known[change.After.Key()]
		if !ok {
			rest = append(rest, change)
			continue
		}
		conceded = append(conceded, change)
		// Each foreign RRset becomes a prerequisite: "the server has exactly this data" (RFC 2136 §2.4.2).
		for _, set := range foreign {
			if _, twice := held.sets[set.Key()]; twice {
				continue
			}
			existing := written{Change: delivery.Change{Before: set, After: delivery.RRset{Name: set.Name, Type: set.Type}}}
			if err := existing.encodeChange(); err != nil {
				return changes, nil
			}
			existing.removals = nil
			held.sets[set.Key()] = set
			held.names[set.Name] = append(held.names[set.Name], set.Type)
			ask.Answer = append(ask.Answer, existing.prerequisites...)
			octets += existing.octets()
		}
	}

	if len(conceded) == 0 || octets > maxUpdate {
		return changes, nil
	}

	answer, err := w.askServer(ctx, ask)
	if err != nil {
		return nil, err
	}
	// The foreign data changed or is gone, so the changes may succeed now.
	if answer.Rcode != mdns.RcodeSuccess {
		return changes, nil
	}

	return append(rest, w.reviseChanges(conceded, held)...), nil
}

// mayReplace reports whether the RRset at the server is ours, because the zone had it at a serial that may be there, or
// the class replaces foreign data.
func (w *work) mayReplace(present delivery.RRset, change delivery.Change) bool {
	if len(present.Data) == 0 || w.config.Replace || w.isVersion(present, change) {
		return true
	}
	// Of a delivered zone without history, other data counts as ours, too: www as of a forgotten serial.
	return w.plan.Delivered && !w.knowsVersions() && !w.mayBeForeign(change.After.Key())
}

// knowsVersions reports whether listVersions has all data of the zone that may be at the server.
func (w *work) knowsVersions() bool {
	if w.plan.Uncertain {
		return w.plan.History != nil
	}
	return w.plan.Changes != nil
}

// subtractWritten returns the RRset at the server without the records that the zone wrote at any serial that may be
// there. An RRset that was refused stays whole, unless it equals a version of the zone or the class replaces foreign
// data.
func (w *work) subtractWritten(present delivery.RRset, change delivery.Change) delivery.RRset {
	nothing := delivery.RRset{Name: present.Name, Type: present.Type}
	switch {
	case w.isVersion(present, change):
		return nothing
	// We overwrote the RRset, and no version is known.
	case w.config.Replace && w.plan.Uncertain && w.plan.History == nil:
		return nothing
	// Equal records in the RRset may be another writer's.
	case w.mayBeForeign(present.Key()):
		return present
	}
	for _, version := range w.listVersions(change) {
		present = subtractData(present, version)
	}
	return present
}

// mayBeForeign reports whether the server may have refused our last write of an RRset. The data there may then be
// another writer's, except in a class with Replace, which counts all data as ours.
func (w *work) mayBeForeign(key delivery.RRsetKey) bool {
	isUnconfirmed := w.plan.Uncertain && (w.plan.Unconfirmed == nil || slices.Contains(w.plan.Unconfirmed, key))
	return isUnconfirmed && !w.config.Replace
}

// isVersion reports whether the zone had the RRset at the server: www of the last serial, of this, or of an earlier
// serial, left there by a crash.
func (w *work) isVersion(present delivery.RRset, change delivery.Change) bool {
	return slices.ContainsFunc(w.listVersions(change), func(version delivery.RRset) bool { return sameData(present, version) })
}

// listVersions returns the contents of an RRset that may be at the server: Before, After, and for an Uncertain plan
// those of each serial in the history. Empty contents are left out.
func (w *work) listVersions(change delivery.Change) []delivery.RRset {
	var versions []delivery.RRset

	add := func(set delivery.RRset) {
		if len(set.Data) > 0 {
			versions = append(versions, set)
		}
	}

	add(change.Before)
	add(change.After)
	if !w.plan.Uncertain {
		return versions
	}

	// Group the history by RRset once, for all RRsets of the plan.
	if w.steps == nil {
		w.steps = map[delivery.RRsetKey][]step{}
		for at, one := range w.plan.History {
			for _, entry := range one.Added {
				w.findStep(at, entry).added = append(w.findStep(at, entry).added, entry.Data)
			}
			for _, entry := range one.Removed {
				w.findStep(at, entry).removed = append(w.findStep(at, entry).removed, entry.Data)
			}
		}
	}

	// Walk back from After through the history: each step undone is a further version.
	was := change.After
	for _, one := range slices.Backward(w.steps[change.After.Key()]) {
		was = subtractData(was, delivery.RRset{Data: one.added})
		was.Data = append(was.Data, one.removed...)
		add(was)
	}
	return versions
}

type step struct {
	historyIndex   int // in Plan.History
	added, removed []string
}

func (w *work) findStep(at int, entry dns.Entry) *step {
	key := delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
	steps := w.steps[key]
	if n := len(steps); n == 0 || steps[n-1].historyIndex != at {
		steps = append(steps, step{historyIndex: at})
		w.steps[key] = steps
	}
	return &steps[len(steps)-1]
}

// dropAliasConflicts drops changes that servers silently ignore (RFC 2136 §3.4.2.2), such as a CNAME beside other data.
func (w *work) dropAliasConflicts(changes []delivery.Change, held contents) []delivery.Change {
	gone := map[delivery.RRsetKey]bool{}
	for _, change := range changes {
		if len(change.After.Data) == 0 {
			gone[change.After.Key()] = true
		}
	}

	return slices.DeleteFunc(changes, func(change delivery.Change) bool {
		key := change.After.Key()
		if len(change.After.Data) == 0 {
			return false
		}
		for _, other := range held.names[key.Name] {
			if other == key.Type || gone[delivery.RRsetKey{Name: key.Name, Type: other}] {
				continue
			}
			// A foreign A at www excludes the zone's CNAME there, and the reverse.
			if key.Type == rdata.CNAME || other == rdata.CNAME {
				w.failConflict(key, "data of type "+other.String()+" at the name",
					held.rrset(delivery.RRsetKey{Name: key.Name, Type: other}))
				return true
			}
		}
		return false
	})
}

func (w *work) listFailures() []delivery.Failure {
	out := make([]delivery.Failure, 0, len(w.failures))
	for key, err := range w.failures {
		out = append(out, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
	}
	slices.SortFunc(out, func(a, b delivery.Failure) int { return a.Key().Compare(b.Key()) })
	return out
}
