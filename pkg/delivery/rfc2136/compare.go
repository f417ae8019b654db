// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/transfer"
)

// contents are the RRsets of a zone as the server has it, and which types each name has.
type contents struct {
	sets  map[delivery.RRsetKey]delivery.RRset
	names map[name.Name][]rdata.Type
}

// transfer fetches the zone. Records whose owner could be none of ours are left out; so is what a server that signs
// makes by itself.
func (w *work) transfer(ctx context.Context) (contents, error) {
	text, err := transfer.Receive(ctx, transfer.Source{
		Server: w.config.TransferServer, Zone: w.plan.Zone, Key: &w.config.Key, Dial: w.config.Dial, Wait: w.wait,
	})
	if err != nil {
		return contents{}, w.unanswered(w.config.TransferServer, err)
	}
	held := contents{map[delivery.RRsetKey]delivery.RRset{}, map[name.Name][]rdata.Type{}}
	for rr, err := range zonefile.Read(bytes.NewReader(text), zonefile.ReadOptions{Origin: w.plan.Zone, MaxGenerate: -1}) {
		if err != nil {
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
		if w.servers(key) || !w.plan.Zone.Encloses(rr.Name) {
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

// at is the RRset that the server has, without Data where there is none.
func (c contents) at(key delivery.RRsetKey) delivery.RRset {
	if set, ok := c.sets[key]; ok {
		return set
	}
	return delivery.RRset{Name: key.Name, Type: key.Type}
}

func sameData(a, b delivery.RRset) bool {
	return slices.Equal(slices.Sorted(slices.Values(a.Data)), slices.Sorted(slices.Values(b.Data)))
}

func same(a, b delivery.RRset) bool {
	return sameData(a, b) && (a.TTL == b.TTL || len(a.Data) == 0)
}

// without is a with the data of b taken out.
func without(a, b delivery.RRset) delivery.RRset {
	gone := map[string]bool{}
	for _, data := range b.Data {
		gone[data] = true
	}
	a.Data = slices.DeleteFunc(slices.Clone(a.Data), func(data string) bool { return gone[data] })
	return a
}

// difference is what lies between the server's zone and the plan's, of which no history is known: what stands in the
// place of the zone's RRsets is taken for what we put there, but where it is known not to be.
func (w *work) difference(held contents) []delivery.Change {
	var changes []delivery.Change
	for want := range w.plan.All {
		key := want.Key()
		is := held.at(key)
		switch {
		case w.servers(key):
		case same(is, want):
			w.dispute(w.plan.UID, key, false)
		case len(is.Data) == 0, sameData(is, want), !w.isDisputed(w.plan.UID, key):
			changes = append(changes, delivery.Change{Before: is, After: want})
		default:
			w.setAside(key, conflict(key, "an RRset of this name and type"))
		}
	}
	return w.settle(changes, held)
}

// withdrawal is what of the plan stands at the server, as changes that remove it.
func (w *work) withdrawal(held contents) []delivery.Change {
	changes := []delivery.Change{}
	seen := map[delivery.RRsetKey]bool{}
	remove := func(is, ours delivery.RRset) {
		key := is.Key()
		if w.servers(key) {
			return
		}
		if left := without(is, ours); len(left.Data) < len(is.Data) && !seen[key] && !w.isDisputed(w.plan.UID, key) {
			changes = append(changes, delivery.Change{Before: is, After: left})
		}
		seen[key] = true
	}
	for ours := range w.plan.All {
		remove(held.at(ours.Key()), ours)
	}
	for _, change := range w.plan.Changes {
		if is := held.at(change.After.Key()); len(change.Before.Data) == 0 && w.plan.Uncertain {
			remove(is, is)
		} else {
			remove(is, change.Before)
		}
	}
	return changes
}

// drift compares. RRsets of ours that somebody else has in our place are Differing: the zone is not there.
func (w *work) drift(held contents) delivery.Drift {
	var d delivery.Drift
	left := maps.Clone(held.sets)
	for want := range w.plan.All {
		key := want.Key()
		if w.servers(key) {
			continue
		}
		is, ok := left[key]
		delete(left, key)
		switch {
		case !ok:
			d.Missing = append(d.Missing, want)
		case !same(is, want):
			d.Differing = append(d.Differing, want)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(left), delivery.RRsetKey.Compare) {
		d.Foreign = append(d.Foreign, left[key])
	}
	return d
}

// left says what is left to do of changes that the server would not take as they were, now that its zone is known.
// Their Before is what the server has.
func (w *work) left(changes []delivery.Change, held contents) []delivery.Change {
	var todo []delivery.Change
	for _, change := range changes {
		key := change.After.Key()
		is := held.at(key)
		switch {
		case same(is, change.After):
			w.dispute(w.plan.UID, key, false)
		case len(is.Data) == 0, sameData(is, change.Before), sameData(is, change.After), w.mayReplace(key):
			todo = append(todo, delivery.Change{Before: is, After: change.After})
		case len(change.After.Data) == 0:
			// What we put goes, what somebody added stays.
			if left := without(is, change.Before); len(left.Data) < len(is.Data) {
				todo = append(todo, delivery.Change{Before: is, After: left})
			}
		default:
			w.setAside(key, conflict(key, "an RRset of this name and type"))
		}
	}
	return w.settle(todo, held)
}

func (w *work) mayReplace(key delivery.RRsetKey) bool {
	return w.plan.Uncertain && !w.isDisputed(w.plan.UID, key)
}

// settle sets aside what a server would pass over without a word (RFC 2136 §3.4.2.2): a CNAME beside other data, other
// data beside a CNAME.
func (w *work) settle(changes []delivery.Change, held contents) []delivery.Change {
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
			if key.Type == rdata.CNAME || other == rdata.CNAME {
				w.setAside(key, conflict(key, "data of type "+other.String()+" at the name"))
				return true
			}
		}
		return false
	})
}

// failures are those set aside, in canonical order.
func (w *work) failures() []delivery.Failure {
	out := make([]delivery.Failure, 0, len(w.failed))
	for key, err := range w.failed {
		out = append(out, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
	}
	slices.SortFunc(out, func(a, b delivery.Failure) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type))
	})
	return out
}
