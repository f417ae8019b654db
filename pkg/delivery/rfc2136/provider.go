// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

type Config struct {
	// Server receives the updates: HOST or HOST:PORT, default port 53.
	Server string
	// TransferServer is the source of transfers; "" means Server.
	TransferServer string
	Key            transfer.Key
	// Replace lets Deliver replace foreign RRsets with the zone's; otherwise they are a Conflict.
	Replace bool
	// Dial connects over TCP; nil means dial.New(false).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

type Provider struct {
	config Config

	order delivery.WriteOrder

	mu sync.Mutex
	// foreign has, by UID, the foreign data in place of a zone's RRsets at the last comparison, as a hint.
	foreign  map[string]map[delivery.RRsetKey][]delivery.RRset
	lastZone name.Name
}

var _ delivery.Provider = (*Provider)(nil)

const callTimeout = 10 * time.Second

// New works without network access. The error is a *delivery.Error.
func New(config Config) (*Provider, error) {
	if config.Server == "" {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "rfc2136.server: required; "+
			"write the server that takes the updates, like 192.0.2.53 or ns.example.org:5353")
	}
	switch config.Key.Algorithm {
	case mdns.HmacSHA256, mdns.HmacSHA384, mdns.HmacSHA512:
	default:
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "TSIG key %s: algorithm %q is not used for updates; "+
			"make one with hmac-sha256, hmac-sha384 or hmac-sha512", config.Key.Name, strings.TrimSuffix(config.Key.Algorithm, "."))
	}
	config.Server, config.TransferServer = transfer.AddPort(config.Server), transfer.AddPort(cmp.Or(config.TransferServer, config.Server))
	if config.Dial == nil {
		config.Dial = dial.New(false).DialContext
	}
	return &Provider{config: config, foreign: map[string]map[delivery.RRsetKey][]delivery.RRset{}}, nil
}

// Deliver writes the plan by DNS UPDATE messages. Without plan.Changes it first transfers the zone and writes the
// differences. The report's Failed has conflicts and refused RRsets.
func (p *Provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	w := p.begin(plan, fence)
	defer w.end()
	out := &write{work: w, revise: w.reviseChanges}

	changes, remains := plan.Changes, plan.Forgotten
	if changes == nil {
		held, err := w.fetchZone(ctx)
		if err != nil {
			return delivery.Report{}, err
		}
		changes = w.findDifferences(held)
		remains = remains && len(w.compareZone(held).Foreign) > 0
	}

	// A known conflict costs one message, and not a transfer of the zone for each attempt.
	changes, err := w.failKnownConflicts(ctx, w.dropServerOwned(changes))
	if err == nil {
		err = out.writeInOrder(ctx, changes, plan.Changes == nil)
	}

	report := delivery.Report{Failed: w.listFailures(), Proven: w.proven}
	if err == nil {
		report.Confirmed, report.Remains = plan.Serial, remains
		p.mu.Lock()
		p.lastZone = plan.Zone
		// No conflicts, or too many to remember: the next attempt finds them again.
		if p.foreign[plan.UID] = w.foreign; len(w.foreign) == 0 || len(w.foreign) > maxForeign {
			delete(p.foreign, plan.UID)
		}
		p.mu.Unlock()
	}
	return report, err
}

// Remove transfers the zone, and removes the records of the plan's zone. The zone itself stays at the server.
func (p *Provider) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	w := p.begin(plan, fence)
	defer w.end()
	held, err := w.fetchZone(ctx)
	if err != nil {
		if err = w.explainMissingZone(ctx, err); delivery.AsError(err).Reason == delivery.ReasonZoneNotFound {
			p.order.Forget(plan.Zone)
		}
		return delivery.Report{}, err
	}

	out := &write{work: w, revise: func(_ []delivery.Change, held contents) []delivery.Change { return w.findRemovals(held) }}
	changes := w.findRemovals(held)
	if err = out.writeInOrder(ctx, changes, true); err == nil && len(w.failures) == 0 {
		p.order.Forget(plan.Zone)
	}

	p.mu.Lock()
	delete(p.foreign, plan.UID)
	if p.lastZone == plan.Zone {
		p.lastZone = name.Name{}
	}
	p.mu.Unlock()

	return delivery.Report{Failed: w.listFailures(), Remains: plan.Forgotten && len(changes) < len(held.sets)}, err
}

// explainMissingZone returns err, unless only the transfer server lacks the zone: the zone may then still be at the
// primary, so it must not count as removed.
func (w *work) explainMissingZone(ctx context.Context, err error) error {
	var e *delivery.Error
	if !errors.As(err, &e) || e.Reason != delivery.ReasonZoneNotFound || w.config.TransferServer == w.config.Server {
		return err
	}
	answer, err := w.askServer(ctx, w.newUpdate(nil))
	switch {
	case err != nil:
		return err
	case answer.Rcode != mdns.RcodeSuccess:
		return w.explainRcode(answer.Rcode)
	}
	return delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s has the zone %s, and %s, the rfc2136.transferServer, does not: "+
		"create it there, or name another server", w.config.Server, w.plan.Zone, w.config.TransferServer)
}

// Verify transfers the zone and compares. A transfer also proves the key, so Health asks for this zone from now on.
func (p *Provider) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	w := p.begin(plan, nil)
	defer w.end()
	held, err := w.fetchZone(ctx)
	if err != nil {
		return delivery.Drift{}, err
	}
	p.mu.Lock()
	p.lastZone = plan.Zone
	p.mu.Unlock()
	return w.compareZone(held), nil
}

// ReadSerial fails with ReasonZoneNotFound if the server does not serve the zone.
func (p *Provider) ReadSerial(ctx context.Context, zone name.Name) (serial.Serial, error) {
	w := p.begin(delivery.Plan{Zone: zone}, nil)
	defer w.end()
	answer, err := w.askServer(ctx, transfer.NewQuestion(zone, mdns.TypeSOA))
	if err != nil {
		return 0, err
	}
	if at, ok := transfer.SerialIn(answer, zone); ok {
		return at, nil
	}
	code := mdns.RcodeToString[answer.Rcode]
	return 0, &delivery.Error{Reason: delivery.ReasonZoneNotFound, Code: code, Message: fmt.Sprintf("%s answers %s to a question for the "+
		"SOA of %s, and does not serve the zone", p.config.Server, code, zone)}
}

// Health asks the server for the SOA of the last delivered zone, or of the root before the first delivery. A signed
// answer proves that the server accepts the key. An unsigned refusal for the root proves nothing, so its error wraps
// ErrNotProven.
func (p *Provider) Health(ctx context.Context) error {
	p.mu.Lock()
	zone := p.lastZone
	p.mu.Unlock()
	undelivered := zone.IsZero()
	if undelivered {
		zone = name.Root
	}

	w := p.begin(delivery.Plan{Zone: zone}, nil)
	defer w.end()
	answer, err := w.askServer(ctx, transfer.NewQuestion(zone, mdns.TypeSOA))

	if err == nil && isBrokenRcode(answer.Rcode) {
		code := mdns.RcodeToString[answer.Rcode]
		return &delivery.Error{Reason: delivery.ReasonServerError, Code: code, Message: fmt.Sprintf("%s answers %s to a question for the "+
			"SOA of %s; see its log", p.config.Server, code, zone)}
	}

	var refusal *transfer.Refusal
	isUnsigned := errors.As(err, &refusal) && refusal.TSIG == 0
	if isUnsigned && undelivered && !isBrokenRcode(refusal.Rcode) {
		return fmt.Errorf("%s answers %s without a signature to a question for the root; whether it accepts the key is not known yet: %w",
			p.config.Server, mdns.RcodeToString[refusal.Rcode], delivery.ErrNotProven)
	}
	return err
}

func isBrokenRcode(rcode int) bool {
	return rcode == mdns.RcodeServerFailure || rcode == mdns.RcodeNotImplemented || rcode == mdns.RcodeFormatError
}

func (*Provider) AskLast(context.Context) []string { return nil }

func (p *Provider) Abilities() delivery.Abilities {
	return delivery.Abilities{Lists: true, OwnApexNS: true}
}

func (p *Provider) Close() error { return nil }

type work struct {
	*Provider
	plan              delivery.Plan
	fence             delivery.Fence
	wait              time.Duration
	conn              net.Conn
	proven            bool
	failures          map[delivery.RRsetKey]*delivery.Error
	accepted, refused map[delivery.RRsetKey]bool
	foreign           map[delivery.RRsetKey][]delivery.RRset
	steps             map[delivery.RRsetKey][]step
}

// begin returns the work of a call. The caller calls end. fence may be nil for calls that write nothing.
func (p *Provider) begin(plan delivery.Plan, fence delivery.Fence) *work {
	w := &work{Provider: p, plan: plan, fence: fence, wait: callTimeout, failures: map[delivery.RRsetKey]*delivery.Error{},
		accepted: map[delivery.RRsetKey]bool{}, refused: map[delivery.RRsetKey]bool{}, foreign: map[delivery.RRsetKey][]delivery.RRset{}}
	if plan.CallTimeout != 0 {
		w.wait = min(callTimeout, plan.CallTimeout)
	}
	return w
}

func (w *work) end() {
	if w.conn != nil {
		w.conn.Close()
	}
}

// askServer sends a signed message over the work's connection, which it makes on first use, and returns the verified
// answer with any RCODE. After an error, the next message gets a new connection.
func (w *work) askServer(ctx context.Context, question *mdns.Msg) (*mdns.Msg, error) {
	call, cancel := context.WithTimeout(ctx, w.wait)
	defer cancel()
	if w.conn == nil {
		conn, err := w.config.Dial(call, "tcp", w.config.Server)
		if err != nil {
			return nil, w.explainUnreachable(w.config.Server, err)
		}
		w.conn = conn
	}

	deadline, _ := call.Deadline()
	err := w.conn.SetDeadline(deadline)
	var answer *mdns.Msg
	if err == nil {
		answer, err = transfer.Exchange(call, w.conn, question, &w.config.Key)
	}

	if err != nil {
		w.conn.Close()
		w.conn = nil
		return nil, w.explainNoAnswer(w.config.Server, err)
	}
	w.proven = true
	return answer, nil
}

func (w *work) isServerOwned(key delivery.RRsetKey) bool {
	return key.Type == rdata.SOA || key.Type == rdata.NS && key.Name == w.plan.Zone
}

func (w *work) dropServerOwned(changes []delivery.Change) []delivery.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(change delivery.Change) bool { return w.isServerOwned(change.After.Key()) })
}

func (w *work) failConflict(key delivery.RRsetKey, what string, foreign ...delivery.RRset) {
	w.foreign[key] = foreign
	w.failures[key] = delivery.Errorf(delivery.ReasonConflict, "the server has %s that is not from this zone; remove it there, "+
		"take it into the zone as it is, or have the class replace it (rfc2136.foreignRecords)", what)
}

func (w *work) explainUnreachable(server string, err error) *delivery.Error {
	e := delivery.Errorf(delivery.ReasonServerUnreachable, "no connection to %s: %w", server, err)
	if local, refused := dial.AsLocal(err); refused {
		e = delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s: %w", server, local)
	}
	e.WholeClass = true
	return e
}

func (w *work) String() string {
	return fmt.Sprintf("%s at %s", w.plan.Zone, w.config.Server)
}
