// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

type Config struct {
	Server string
	Key    transfer.Key
}

type Backend struct {
	config Config
	// knownZone is the last zone for which the server accepted an update or rejected the key; nil if none.
	knownZone atomic.Pointer[name.Name]
}

var _ server.Conditional = (*Backend)(nil)

const exchangeTime = 10 * time.Second

func New(config Config) (*Backend, error) {
	var wrong []error
	if _, port, err := net.SplitHostPort(config.Server); err != nil || port == "" {
		wrong = append(wrong, fmt.Errorf("server %q: must be HOST:PORT", config.Server))
	}
	if config.Key.MAC == nil {
		wrong = append(wrong, errors.New("key: updates are signed; give one"))
	}
	return &Backend{config: config}, errors.Join(wrong...)
}

func (b *Backend) Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error {
	return b.ApplyWhere(ctx, zone, sets, nil)
}

// ApplyWhere sends an update for each RRset. If expected is not nil, its RRset of the same index is the prerequisite
// (RFC 2136 §2.4).
func (b *Backend) ApplyWhere(ctx context.Context, zone name.Name, sets, expected []protocol.RRset) []error {
	results := make([]error, len(sets))
	for i, set := range sets {
		var before *protocol.RRset
		if expected != nil {
			before = &expected[i]
		}
		results[i] = b.replaceRRset(ctx, zone, set, before)
	}
	return results
}

func (b *Backend) replaceRRset(ctx context.Context, zone name.Name, set protocol.RRset, present *protocol.RRset) error {
	records, err := packRecords(set)
	if err != nil {
		return err
	}
	// 1. Require the present RRset.
	update := updateOf(zone)
	if present != nil {
		stand, err := packRecords(*present)
		switch {
		case err != nil:
			return err
		case len(stand) == 0:
			update.RRsetNotUsed([]mdns.RR{emptyOf(set)})
		default:
			update.Used(stand)
		}
	}
	// 2. Replace the RRset.
	switch {
	case set.Type == rdata.NS && set.Name == zone && len(records) == 0:
		return protocol.Refuse(protocol.CodeInvalidRecord, "the name servers of a zone can be replaced, not removed")
	case set.Type == rdata.NS && set.Name == zone:
		// A server ignores the deletion of all apex NS (RFC 2136 §3.4.2.3), so add the new NS and then delete each old.
		present, err := b.Read(ctx, zone, set.Name, set.Type)
		if err != nil {
			return err
		}
		update.Insert(records)
		present.Data = slices.DeleteFunc(present.Data, func(data string) bool { return slices.Contains(set.Data, data) })
		gone, err := packRecords(present)
		if err != nil {
			return err
		}
		if len(gone) > 0 {
			update.Remove(gone)
		}
	default:
		update.RemoveRRset([]mdns.RR{emptyOf(set)})
		update.Insert(records)
	}
	// 3. Send, and explain a refusal.
	switch code, err := b.sendUpdate(ctx, zone, update); {
	case err == nil && code == mdns.RcodeSuccess:
	case err == nil && present != nil && (code == mdns.RcodeNXRrset || code == mdns.RcodeYXRrset):
		return server.ChangedError(set)
	case err == nil && b.blamesRecords(ctx, zone, code):
		return protocol.Refuse(protocol.CodeInvalidRecord, "the DNS server answers %s to %s %s, and takes other updates of the zone; "+
			"its log says why", mdns.RcodeToString[code], set.Name, set.Type)
	default:
		return b.describeFailure(zone, code, err)
	}
	if len(records) == 0 {
		return nil
	}
	// 4. Test the result, because servers silently ignore records that cannot coexist with others.
	there, err := b.hasRecords(ctx, zone, records)
	if err == nil && !there {
		return server.CoexistError("%s %s conflicts with other data at the name; remove that first", set.Name, set.Type)
	}
	return err
}

// blamesRecords reports whether an empty update succeeds, so that the records caused the refusal.
func (b *Backend) blamesRecords(ctx context.Context, zone name.Name, code int) bool {
	switch code {
	case mdns.RcodeRefused, mdns.RcodeFormatError, mdns.RcodeNotImplemented:
	default:
		return false // SERVFAIL is a temporary fault of the server
	}
	empty, err := b.sendUpdate(ctx, zone, updateOf(zone))
	return err == nil && empty == mdns.RcodeSuccess
}

// hasRecords reports whether exactly the records exist, apart from TTLs. It sends an empty update with prerequisites,
// which see names below delegations and match no wildcard, unlike a query.
func (b *Backend) hasRecords(ctx context.Context, zone name.Name, records []mdns.RR) (bool, error) {
	update := updateOf(zone)
	update.Used(records)
	switch code, err := b.sendUpdate(ctx, zone, update); {
	case err == nil && code == mdns.RcodeSuccess:
		return true, nil
	case err == nil && code == mdns.RcodeNXRrset:
		return false, nil
	default:
		return false, b.describeFailure(zone, code, err)
	}
}

func (b *Backend) Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	set := protocol.RRset{Zone: zone, Name: owner, Type: t}
	exists := updateOf(zone)
	exists.RRsetUsed([]mdns.RR{emptyOf(set)})
	switch code, err := b.sendUpdate(ctx, zone, exists); {
	case err != nil || code != mdns.RcodeSuccess && code != mdns.RcodeNXRrset:
		return set, b.describeFailure(zone, code, err)
	case code == mdns.RcodeNXRrset:
		return set, nil
	}
	query := new(mdns.Msg)
	query.SetQuestion(owner.String(), uint16(t))
	query.RecursionDesired = false
	answer, err := b.exchangeMessages(ctx, query)
	if err != nil {
		return set, err
	}
	// A referral has NS and addresses in the other sections.
	for _, section := range [][]mdns.RR{answer.Answer, answer.Ns, answer.Extra} {
		for _, rr := range section {
			header := rr.Header()
			if header.Rrtype != uint16(t) || mdns.CanonicalName(header.Name) != owner.String() {
				continue
			}
			data, err := dataOf(t, rr, zone)
			if err != nil {
				return set, err
			}
			set.TTL = header.Ttl
			set.Data = append(set.Data, data)
		}
	}
	if len(set.Data) == 0 {
		return set, fmt.Errorf("%s %s is there, and the server does not answer with it: it lies below a delegation", owner, t)
	}
	slices.Sort(set.Data)
	set.Data = slices.Compact(set.Data)
	return set, nil
}

// Health queries the SOA of knownZone, or of the root. Knot does not sign refusals for unknown zones, so such a refusal
// is no failure.
func (b *Backend) Health(ctx context.Context) error {
	zone := b.knownZone.Load()
	query := new(mdns.Msg)
	query.SetQuestion(cmp.Or(zone, &name.Root).String(), mdns.TypeSOA)
	query.RecursionDesired = false
	_, err := b.exchangeMessages(ctx, query)
	var refusal *transfer.Refusal
	if errors.As(err, &refusal) && refusal.TSIG == 0 && (refusal.Rcode == mdns.RcodeRefused || refusal.Rcode == mdns.RcodeNotAuth) {
		b.knownZone.CompareAndSwap(zone, nil) // the zone is gone
		return nil
	}
	return err
}

func updateOf(zone name.Name) *mdns.Msg {
	message := new(mdns.Msg)
	message.SetUpdate(zone.String())
	return message
}

// sendUpdate returns the server's RCODE, or an error if the answer proves nothing.
func (b *Backend) sendUpdate(ctx context.Context, zone name.Name, update *mdns.Msg) (int, error) {
	answer, err := b.exchangeMessages(ctx, update)
	refusal := new(transfer.Refusal) // without one, NOERROR
	errors.As(err, &refusal)
	isDone := err == nil && answer.Rcode == mdns.RcodeSuccess
	if isDone || refusal.TSIG != 0 {
		b.knownZone.Store(&zone)
	}
	switch {
	case err == nil:
		return answer.Rcode, nil
	case refusal.Rcode != mdns.RcodeNotAuth, refusal.TSIG != 0:
		return 0, err
	}
	// The library does not verify a NOTAUTH's signature, so query whether the server has the zone.
	if hasZone, failed := b.queryZone(ctx, zone); hasZone || failed != nil {
		return 0, err
	}
	return mdns.RcodeNotAuth, nil
}

// queryZone reports whether the server answers with authority for the zone.
func (b *Backend) queryZone(ctx context.Context, zone name.Name) (bool, error) {
	query := new(mdns.Msg)
	query.SetQuestion(zone.String(), mdns.TypeSOA)
	query.RecursionDesired = false
	answer, err := b.exchangeMessages(ctx, query)
	if err != nil {
		return false, err
	}
	isSOA := func(rr mdns.RR) bool { return rr.Header().Rrtype == mdns.TypeSOA }
	return answer.Authoritative && slices.ContainsFunc(answer.Answer, isSOA), nil
}

func (b *Backend) exchangeMessages(ctx context.Context, message *mdns.Msg) (*mdns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	var answer *mdns.Msg
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.config.Server)
	if err == nil {
		defer conn.Close()
		answer, err = transfer.Exchange(ctx, conn, message, &b.config.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.config.Server, err)
	}
	return answer, nil
}

func (b *Backend) describeFailure(zone name.Name, code int, err error) error {
	switch {
	case err != nil:
		return err
	case code == mdns.RcodeNotAuth, code == mdns.RcodeNotZone:
		return server.UnknownZoneError(zone)
	case code == mdns.RcodeRefused:
		return fmt.Errorf("%s: %s of zone %s: allow updates with the key %s", b.config.Server, mdns.RcodeToString[code], zone,
			b.config.Key.Name)
	}
	return fmt.Errorf("%s: %s for an update of zone %s", b.config.Server, mdns.RcodeToString[code], zone)
}

// packRecords converts data by the wire format, so that no second parser reads a client's text.
func packRecords(set protocol.RRset) ([]mdns.RR, error) {
	var records []mdns.RR
	for _, data := range set.Data {
		value, err := rdata.Parse(set.Type, data)
		if err != nil {
			return nil, protocol.Refuse(protocol.CodeInvalidValue, "value: %v", err)
		}
		wire, err := value.Pack(set.Zone)
		if err != nil {
			return nil, protocol.Refuse(protocol.CodeInvalidValue, "value: %v", err)
		}
		unknown := &mdns.RFC3597{Hdr: headerOf(set), Rdata: hex.EncodeToString(wire)}
		unknown.Hdr.Rdlength = uint16(len(wire))
		records = append(records, unknown)
	}
	return records, nil
}

func dataOf(t rdata.Type, rr mdns.RR, zone name.Name) (string, error) {
	unknown := new(mdns.RFC3597)
	if err := unknown.ToRFC3597(rr); err != nil {
		return "", fmt.Errorf("%s %s: %w", rr.Header().Name, t, err)
	}
	return rdata.FromRR(t, fmt.Sprintf(`\# %d %s`, len(unknown.Rdata)/2, strings.ToUpper(unknown.Rdata)), zone)
}

func headerOf(set protocol.RRset) mdns.RR_Header {
	return mdns.RR_Header{Name: set.Name.String(), Rrtype: uint16(set.Type), Class: mdns.ClassINET, Ttl: set.TTL}
}

func emptyOf(set protocol.RRset) mdns.RR { return &mdns.ANY{Hdr: headerOf(set)} }
