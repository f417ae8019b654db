// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	// maxUpdate bounds the records of an update, in octets: 64 KiB less header, zone and the largest signature.
	maxUpdate = 1<<16 - 1 - 12 - 260 - 700
	// maxReviews bounds the transfers of a zone that another client keeps changing.
	maxReviews = 3
	// maxIsolating bounds the updates in search of refused records, first of new refusals, then of earlier ones.
	maxIsolating = 64
	soon         = 5 * time.Second
)

type written struct {
	delivery.Change
	// blind is true if the update does not check Before, so that any data counts as ours.
	blind bool
	// needsQuery is true if only a query shows whether the server accepted the CNAME.
	needsQuery                         bool
	prerequisites, removals, additions []mdns.RR
}

func (w written) octets() int {
	n := 0
	for _, section := range [][]mdns.RR{w.prerequisites, w.removals, w.additions} {
		for _, rr := range section {
			n += mdns.Len(rr)
		}
	}
	return n
}

type write struct {
	*work
	revise         func(changes []delivery.Change, held contents) []delivery.Change
	isolations     int
	serverContents *contents
}

// writeInOrder writes the changes, those of RRsets refused before last. seen is true if Before is the server's content.
func (w *write) writeInOrder(ctx context.Context, changes []delivery.Change, seen bool) error {
	first, last := w.order.Divide(w.plan.Zone, changes)
	err := w.writeAll(ctx, first, seen, 0)
	if err == nil {
		// New refusals must not use up the search among earlier refusals.
		w.isolations = 0
		err = w.writeAll(ctx, last, seen, 0)
	}
	w.noteOrder(changes)
	return err
}

// If beforeSeen is true, Before is the server's content, not our last delivery.
func (w *write) writeAll(ctx context.Context, changes []delivery.Change, beforeSeen bool, reviews int) error {
	for _, batch := range w.divideIntoBatches(changes, beforeSeen) {
		if err := w.sendUpdate(ctx, batch, reviews); err != nil {
			return err
		}
	}
	return nil
}

// divideIntoBatches encodes the changes and divides them into updates of at most maxUpdate octets. The changes of a
// name stay together, in one transaction of the server, if they fit. An RRset that fits no update fails.
func (w *write) divideIntoBatches(changes []delivery.Change, seen bool) [][]written {
	byName := map[name.Name][]delivery.Change{}
	var names []name.Name
	for _, change := range changes {
		if _, ok := byName[change.After.Name]; !ok {
			names = append(names, change.After.Name)
		}
		byName[change.After.Name] = append(byName[change.After.Name], change)
	}

	var batches [][]written
	var batch []written
	size := 0

	for _, n := range names {
		group, octets := w.encodeName(byName[n], seen)
		for len(group) > 0 {
			part := group
			if octets > maxUpdate {
				part = group[:1] // RRset by RRset
			}
			group = group[len(part):]
			for _, one := range part {
				if one.octets() > maxUpdate {
					w.failures[one.After.Key()] = delivery.Errorf(delivery.ReasonValidationFailed, "its old and new values do not fit the "+
						"64 KiB of an update; make the RRset smaller")
					part = nil
				}
			}

			octetsOfPart := 0
			for _, one := range part {
				octetsOfPart += one.octets()
			}

			if size+octetsOfPart > maxUpdate {
				batches, batch, size = append(batches, batch), nil, 0
			}
			batch, size = append(batch, part...), size+octetsOfPart
		}
	}

	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// encodeName encodes the changes of one name, and returns their octets. seen is true if Before is the server's content.
// It adds prerequisites against a CNAME beside other data, which servers drop without an error (RFC 2136 §3.4.2.2).
func (w *write) encodeName(changes []delivery.Change, seen bool) ([]written, int) {
	aliasChanges := slices.ContainsFunc(changes, func(change delivery.Change) bool { return change.After.Type == rdata.CNAME })
	somethingWas := slices.ContainsFunc(changes, func(change delivery.Change) bool { return len(change.Before.Data) > 0 })
	var out []written
	total := 0

	for _, change := range changes {
		one := written{Change: change, blind: !seen && w.isBlind(change)}
		if err := one.encodeChange(); err != nil {
			w.failures[change.After.Key()] = err
			continue
		}

		switch {
		// A removal adds no data beside a CNAME.
		case len(change.After.Data) == 0:
		case change.After.Type == rdata.CNAME:
			one.excludeOthers(seen, somethingWas)
		// "No CNAME at the name", unless this update removes the CNAME.
		case !aliasChanges:
			one.prerequisites = append(one.prerequisites, newExclusion(change.After.Name, mdns.TypeCNAME))
		}

		total += one.octets()
		out = append(out, one)
	}
	return out, total
}

// excludeOthers makes sure that a CNAME gets no data beside it. somethingWas is true if Before has data at the name.
func (w *written) excludeOthers(seen, somethingWas bool) {
	otherWas := somethingWas && len(w.Before.Data) == 0
	switch {
	// Other data at the name goes in this update or may be ours, so no prerequisite can exclude it.
	case w.blind, otherWas && !seen:
		w.needsQuery = true
	case !somethingWas:
		// "Name is not in use" (RFC 2136 §2.4.5), stronger than "no such RRset".
		w.prerequisites = []mdns.RR{newExclusion(w.After.Name, mdns.TypeANY)}
	}
}

// newExclusion returns the prerequisite that a name has no RRset of a type.
func newExclusion(owner name.Name, rrtype uint16) mdns.RR {
	return &mdns.ANY{Hdr: mdns.RR_Header{Name: owner.String(), Rrtype: rrtype, Class: mdns.ClassNONE}}
}

func (w *work) isBlind(change delivery.Change) bool {
	return w.config.Replace && w.plan.Uncertain && (len(change.After.Data) > 0 || w.plan.History == nil)
}

// encodeChange follows RFC 2136 §2.4, §2.5.
func (w *written) encodeChange() *delivery.Error {
	header := mdns.RR_Header{Name: w.After.Name.String(), Rrtype: uint16(w.After.Type)}

	add := func(to *[]mdns.RR, class uint16, ttl uint32, set delivery.RRset) *delivery.Error {
		for _, text := range set.Data {
			// Wire format as an unknown type (RFC 3597): no text of a user is parsed again.
			wire, err := rdata.Value{Type: set.Type, Text: text}.Pack(name.Name{})
			if err != nil {
				return delivery.Errorf(delivery.ReasonValidationFailed, "%s: %w", set.Key(), err)
			}
			h := header
			h.Class, h.Ttl, h.Rdlength = class, ttl, uint16(len(wire))
			*to = append(*to, &mdns.RFC3597{Hdr: h, Rdata: hex.EncodeToString(wire)})
		}
		return nil
	}

	bare := func(class uint16) mdns.RR {
		h := header
		h.Class = class
		return &mdns.ANY{Hdr: h}
	}

	var err *delivery.Error
	switch {
	// Any content may be there: no prerequisite.
	case w.blind:
	// "RRset does not exist" (RFC 2136 §2.4.3).
	case len(w.Before.Data) == 0:
		w.prerequisites = append(w.prerequisites, bare(mdns.ClassNONE))
	// "RRset exists with this data" (RFC 2136 §2.4.2), TTL 0 as required.
	default:
		err = add(&w.prerequisites, mdns.ClassINET, 0, w.Before)
	}

	additions := w.After
	switch {
	case err != nil:
	// Remove the RRset as a whole: a new TTL needs all records again.
	case w.blind, len(w.After.Data) == 0, w.Before.TTL != w.After.TTL && len(w.Before.Data) > 0:
		w.removals = append(w.removals, bare(mdns.ClassANY))
	// Remove and add single records only: equal records stay.
	default:
		err = add(&w.removals, mdns.ClassNONE, 0, subtractData(w.Before, w.After))
		additions = subtractData(w.After, w.Before)
	}

	if err == nil {
		err = add(&w.additions, mdns.ClassINET, w.After.TTL, additions)
	}
	return err
}

// sendUpdate passes the fence and sends a batch as one update. A failed prerequisite leads to a comparison with the
// server, any other refusal to a search for the refused RRset. reviews counts comparisons so far.
func (w *write) sendUpdate(ctx context.Context, batch []written, reviews int) error {
	if len(batch) == 0 {
		return nil
	}

	if err := w.fence(ctx); err != nil {
		return err
	}

	answer, err := w.askServer(ctx, w.newUpdate(batch))
	// A server that cannot parse the message answers FORMERR unsigned. Knot rejects a name forbidden to the key like an
	// unknown key. Any host on the path can forge both, so isolateRefused first asks by an update without records.
	if refusal := (*transfer.Refusal)(nil); errors.As(err, &refusal) {
		switch {
		case refusal.Rcode == mdns.RcodeFormatError && refusal.TSIG == 0:
			return w.isolateRefused(ctx, batch, refusal.Rcode, reviews)
		case refusal.TSIG == mdns.RcodeBadKey:
			return w.isolateRefused(ctx, batch, refusal.TSIG, reviews)
		}
	}

	if err != nil {
		return err
	}

	switch answer.Rcode {
	case mdns.RcodeSuccess:
		for _, one := range batch {
			w.accepted[one.After.Key()] = true
		}
		// NOERROR does not prove a CNAME: the server may have dropped it in silence.
		missed, err := w.findMissedAliases(ctx, batch)
		if err != nil || len(missed) == 0 {
			return err
		}
		return w.reviseBatch(ctx, missed, reviews)
	// A prerequisite failed: another client wrote, or our last write is unknown.
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset, mdns.RcodeNXRrset, mdns.RcodeNameError:
		return w.reviseBatch(ctx, batch, reviews)
	case mdns.RcodeNotZone, mdns.RcodeNotAuth:
		return w.explainRcode(answer.Rcode)
	}
	return w.isolateRefused(ctx, batch, answer.Rcode, reviews)
}

// newUpdate puts removals first, because a CNAME replaces other data only after their removal.
func (w *work) newUpdate(batch []written) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate(w.plan.Zone.String())
	for _, one := range batch {
		m.Answer = append(m.Answer, one.prerequisites...)
		m.Ns = append(m.Ns, one.removals...)
	}
	for _, one := range batch {
		m.Ns = append(m.Ns, one.additions...)
	}
	return m
}

// reviseBatch transfers the zone, computes the changes again and writes them. After maxReviews in a row it gives up.
func (w *write) reviseBatch(ctx context.Context, batch []written, reviews int) error {
	if reviews == maxReviews {
		return delivery.Errorf(delivery.ReasonServerError, "%s: another client keeps changing what this zone changes; "+
			"the server's log says which one", w.work)
	}
	held, err := w.fetchZone(ctx)
	if err != nil {
		return err
	}
	changes := make([]delivery.Change, len(batch))
	for i, one := range batch {
		changes[i] = one.Change
	}
	return w.writeAll(ctx, w.revise(changes, held), true, reviews+1)
}

// findMissedAliases returns the changes whose CNAME the server does not have although the update succeeded.
func (w *write) findMissedAliases(ctx context.Context, batch []written) ([]written, error) {
	var missed []written
	for _, one := range batch {
		if !one.needsQuery {
			continue
		}
		answer, err := w.askServer(ctx, transfer.NewQuestion(one.After.Name, mdns.TypeCNAME))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(answer.Answer, func(rr mdns.RR) bool {
			_, is := rr.(*mdns.CNAME)
			return is
		}) {
			missed = append(missed, one)
		}
	}
	return missed, nil
}

// isolateRefused finds the refused RRsets of a batch by halves, so the others are written. An error ends the
// attempt: the server refuses every update of the zone, or gives no answer.
func (w *write) isolateRefused(ctx context.Context, batch []written, rcode, reviews int) error {
	// An update without records is refused only for its zone or key.
	answer, err := w.askServer(ctx, w.newUpdate(nil))
	if err != nil {
		return err
	}
	if answer.Rcode != mdns.RcodeSuccess {
		return w.explainRcode(rcode)
	}

	if w.isolations >= maxIsolating {
		return w.endIsolation(batch, rcode)
	}
	w.isolations++

	if len(batch) > 1 {
		if err := w.sendUpdate(ctx, batch[:len(batch)/2], reviews); err != nil {
			return err
		}
		return w.sendUpdate(ctx, batch[len(batch)/2:], reviews)
	}

	key := batch[0].After.Key()
	// A refused removal of data that the server does not have is done already.
	if len(batch[0].After.Data) == 0 {
		stored, err := w.isStored(ctx, batch[0].Change)
		if err != nil || !stored {
			return err
		}
	}

	w.refused[key] = true
	refused := delivery.Errorf(delivery.ReasonValidationFailed, "the server refuses the RRset, though it accepts updates of the zone; "+
		"its log says why")
	refused.Code = mdns.RcodeToString[rcode]
	if rcode == mdns.RcodeBadKey {
		refused.Message = "the server does not let the key update this name, though it accepts updates of the zone; allow the name " +
			"there (update-owner-name in an acl of Knot)"
	}
	w.failures[key] = refused
	return nil
}

// endIsolation fails a whole batch, because the RRset that the server refuses was not found; each RRset is retried
// alone. If the server has accepted nothing yet, it may refuse the key, and the attempt fails.
func (w *write) endIsolation(batch []written, rcode int) error {
	if len(w.accepted) == 0 {
		e := w.explainRcode(rcode)
		if w.hasNewRefusal() {
			e.RetryAfter = soon
		}
		return e
	}
	for _, change := range batch {
		e := delivery.Errorf(delivery.ReasonValidationFailed, "the server refused it together with other RRsets of the zone; each is "+
			"retried alone soon")
		e.Code, e.RetryAfter = mdns.RcodeToString[rcode], soon
		w.failures[change.After.Key()] = e
	}
	return nil
}

func (w *work) hasNewRefusal() bool {
	known := w.order.FailedRRsets(w.plan.Zone)
	for key := range w.refused {
		if _, is := known[key]; !is {
			return len(known) < delivery.MaxFailed
		}
	}
	return false
}

func (w *work) noteOrder(changes []delivery.Change) {
	for _, change := range changes {
		if key := change.After.Key(); w.refused[key] || w.accepted[key] {
			w.order.Note(w.plan.Zone, key, w.refused[key])
		}
	}
}

// isStored reports whether the server still has records of the change. The first call transfers the zone.
func (w *write) isStored(ctx context.Context, change delivery.Change) (bool, error) {
	if w.serverContents == nil {
		held, err := w.fetchZone(ctx)
		if err != nil {
			return false, err
		}
		w.serverContents = &held
	}
	is := w.serverContents.rrset(change.After.Key())
	return len(w.subtractWritten(is, change).Data) < len(is.Data), nil
}
