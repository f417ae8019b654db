// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Members looks up the zones that the primary servers offer to the secondaries of a class. Only stored Deliveries
// count, so that a controller that has lost its lease can neither add nor remove zones.
type Members interface {
	// Name returns the name, such as example.org., of the member with a UID; zero if there is none.
	Name(uid string) name.Name
	// Holder returns the UID of the member with a zone name, or "".
	Holder(zone name.Name) (uid string)
}

type Config struct {
	Members     Members
	Secondaries []Secondary
	// Catalog is the class's catalog zone; zero means none.
	Catalog name.Name
	// Claims maps names of TSIG keys to their use (delivery.Abilities), because a primary has one key of each name.
	Claims map[string]string
	// ServedSerial returns the zone's serial in this process, possibly later than a plan's; 0 means none. LatestSerial
	// reads the stored serial, because a secondary may learn of a change before this process.
	ServedSerial func(uid string) serial.Serial
	LatestSerial func(ctx context.Context, uid string) (serial.Serial, error)
	// Changes returns the changes of each serial after since up to until, to recognise a signer's content, or an error
	// if they are trimmed. May be nil.
	Changes func(uid string, since, until serial.Serial) ([]dns.Change, error)
	// NeedsFullTransfer reports whether no incremental transfer leads from since to until. Nil means always.
	NeedsFullTransfer func(uid string, since, until serial.Serial) bool
	// DriftInterval is the class's, for AskLast; 0 means the default.
	DriftInterval time.Duration
	// Dial connects over TCP to signing secondaries, and over UDP to all; nil means dial.New(false).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

type Provider struct {
	config Config
	*signedZones
	confirmations *confirmations
	samples       *samples
}

type signedZones struct {
	mu      sync.Mutex
	zones   map[signedKey]*signedZone
	sweepAt int
	pace    pace // of transfers from signers
}

var _ delivery.Provider = (*Provider)(nil)

// New works without network access. The error is a *delivery.Error.
func New(config Config) (*Provider, error) {
	if uid := config.Members.Holder(config.Catalog); uid != "" {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "transfer.catalogZone: a zone of the class is named %s; "+
			"give the catalog another name", config.Catalog)
	}
	for i, s := range config.Secondaries {
		if !s.Addr.IsValid() || s.Addr.Port() == 0 {
			return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "transfer.secondaries[%d].address: %q is no address; "+
				"write one like 192.0.2.1 or [2001:db8::1]:53", i, s.Name)
		}
	}
	if config.Dial == nil {
		config.Dial = dial.New(false).DialContext
	}
	if config.Changes == nil {
		config.Changes = func(string, serial.Serial, serial.Serial) ([]dns.Change, error) {
			return nil, errors.New("no changes are kept")
		}
	}
	if config.NeedsFullTransfer == nil {
		config.NeedsFullTransfer = func(string, serial.Serial, serial.Serial) bool { return true }
	}
	return &Provider{config, &signedZones{zones: map[signedKey]*signedZone{}}, &confirmations{bySecondary: map[string]confirmation{}},
		&samples{servers: map[string]*serverSamples{}}}, nil
}

// WithSecondaries returns a provider for other secondaries that shares the digests, samples and confirmations, so that
// a server that joins a fleet costs no transfer from all others.
func (p *Provider) WithSecondaries(secondaries []Secondary) (*Provider, error) {
	config := p.config
	config.Secondaries = secondaries
	other, err := New(config)
	if err != nil {
		return nil, err
	}
	other.signedZones, other.confirmations, other.samples = p.signedZones, p.confirmations, p.samples
	return other, nil
}

// Deliver offers the zone to the class's secondaries, and waits for them. The wait is short, because it occupies a
// worker. The Report confirms the plan's serial only if all secondaries have it. The error is a Conflict if the zone
// has the name of the catalog or of another zone of the class.
func (p *Provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if err := p.checkZoneName(plan); err != nil {
		return delivery.Report{}, err
	}

	// The fence stores the Delivery, and from then on the primaries offer the zone.
	isOffered := p.config.Members.Name(plan.UID) == plan.Zone
	if !isOffered {
		if err := fence(ctx); err != nil {
			return delivery.Report{}, err
		}
	}

	const wait, routine = true, false
	report := delivery.Report{Servers: p.askSecondaries(ctx, plan, wait)}
	p.compareContent(ctx, plan, report.Servers, routine)
	if err := ctx.Err(); err != nil {
		return report, err
	}

	// One lagging secondary keeps the serial unconfirmed: Ready of a Record means every secondary.
	someBehind := slices.ContainsFunc(report.Servers, func(s delivery.Server) bool { return isBehind(s, plan.Serial) })
	if !someBehind {
		report.Confirmed, report.Proven = plan.Serial, len(report.Servers) > 0
	}
	if ahead := findAhead(report.Servers); ahead != nil {
		return report, ahead
	}
	return report, nil
}

// checkZoneName returns a Conflict if the secondaries have another zone of this name: the catalog zone, or a zone of
// another view.
func (p *Provider) checkZoneName(plan delivery.Plan) error {
	if plan.Zone == p.config.Catalog {
		return delivery.Errorf(delivery.ReasonConflict, "%s is the name of the class's catalog zone; give the zone, "+
			"or the catalog, another name", plan.Zone)
	}
	if holder := p.config.Members.Holder(plan.Zone); holder != "" && holder != plan.UID {
		return delivery.Errorf(delivery.ReasonConflict, "another zone of the class is named %s, "+
			"and a secondary can have one zone of a name; deliver one of the two by another class", plan.Zone)
	}
	return nil
}

func isBehind(s delivery.Server, want serial.Serial) bool {
	return s.Err != nil || s.Content == delivery.ContentDiffers || !reaches(s.Serial, want)
}

// findAhead prefers the error of a signed answer.
func findAhead(servers []delivery.Server) (ahead *delivery.Error) {
	for _, server := range servers {
		if server.Err == nil || server.Err.Reason != delivery.ReasonSerialBehind {
			continue
		}
		if isSigned := server.AwaitsSerial; isSigned {
			return server.Err
		}
		ahead = cmp.Or(ahead, server.Err)
	}
	return ahead
}

// Remove drops the answers cached for the zone, unless the fence says that another worker has a later plan. Secondaries
// remove the zone by themselves when it leaves the catalog, after the deletion of its Delivery.
func (p *Provider) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if p.config.Members.Name(plan.UID) != plan.Zone {
		return delivery.Report{}, ctx.Err()
	}
	err := fence(ctx)
	if err == nil {
		p.forgetSignedZone(plan)
		p.confirmations.forgetZone(plan.UID)
		p.samples.forgetZone(plan.UID)
	}
	return delivery.Report{}, err
}

// Verify asks the secondaries for their serials, and compares the data of those that are due. Without secondaries in
// the class the error is ErrCannotList.
func (p *Provider) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	if len(p.config.Secondaries) == 0 {
		return delivery.Drift{}, delivery.ErrCannotList
	}
	drift := delivery.Drift{Servers: p.askSecondaries(ctx, plan, false)}
	drift.Differing, drift.Foreign = joinDifferences(p.compareContent(ctx, plan, drift.Servers, true))
	return drift, ctx.Err()
}

// Health checks that the secondaries answer. It asks each for the SOA of the class's catalog zone, or of the root if
// the secondary has no catalog. The error is ErrNotProven if a secondary answers without serving that zone, because the
// secondary may still transfer no zone of the class. Any other error of a secondary has precedence.
func (p *Provider) Health(ctx context.Context) error {
	if len(p.config.Secondaries) == 0 {
		return fmt.Errorf("the class names no secondary to ask; any server with its key may transfer its zones: %w",
			delivery.ErrNotProven)
	}
	errs := make([]error, len(p.config.Secondaries))
	p.eachSecondary(func(i int, s Secondary) { errs[i] = p.checkSecondary(ctx, s) })

	isFault := func(err error) bool { return err != nil && !errors.Is(err, delivery.ErrNotProven) }
	if at := slices.IndexFunc(errs, isFault); at >= 0 {
		return errs[at]
	}
	return cmp.Or(append(errs, ctx.Err())...)
}

// checkSecondary returns nil if the secondary serves the catalog (or root), ErrNotProven if it answers otherwise, and
// else its fault.
func (p *Provider) checkSecondary(ctx context.Context, s Secondary) error {
	zone := p.config.Catalog
	if zone.IsZero() || s.NoCatalog {
		zone = name.Root
	}

	answer := p.probeSOA(ctx, s, zone, healthTimeout)
	if answer.err == nil {
		return nil
	}
	if answer.err.Reason != delivery.ReasonZoneNotFound {
		return answer.err
	}

	// SERVFAIL for any question: the server itself is broken.
	switch code := answer.err.Code; code {
	case mdns.RcodeToString[mdns.RcodeServerFailure], mdns.RcodeToString[mdns.RcodeNotImplemented],
		mdns.RcodeToString[mdns.RcodeFormatError]:
		return &delivery.Error{Reason: delivery.ReasonServerError, Code: code,
			Message: fmt.Sprintf("%s answers %s to a question for the SOA of %s; see its log", s.Name, code, zone)}
	}
	return fmt.Errorf("%s answers, and does not serve %s; whether it transfers the zones of the class is not known yet: %w", s.Name,
		zone, delivery.ErrNotProven)
}

func (p *Provider) Abilities() delivery.Abilities {
	return delivery.Abilities{Fetched: true, Claims: p.config.Claims}
}

// Close does nothing, because every change of the class makes a new provider, and zones stay members.
func (p *Provider) Close() error { return nil }

// eachSecondary calls do for all secondaries at once, and waits. Each call may write its own element i of a slice.
func (p *Provider) eachSecondary(do func(i int, s Secondary)) {
	var asking sync.WaitGroup
	for i, s := range p.config.Secondaries {
		asking.Go(func() { do(i, s) })
	}
	asking.Wait()
}

// askSecondaries asks all secondaries for their serials at once, and returns a row for each. With wait, it asks again
// until each has the serial, for at most followTimeout, because most secondaries follow a NOTIFY within milliseconds.
func (p *Provider) askSecondaries(ctx context.Context, plan delivery.Plan, wait bool) []delivery.Server {
	asking, cancel := context.WithTimeout(ctx, min(followTimeout, cmp.Or(plan.CallTimeout, followTimeout)))
	defer cancel()
	rows := make([]delivery.Server, len(p.config.Secondaries))
	observed := make([]serial.Serial, len(rows)) // of secondaries with own serials
	p.eachSecondary(func(i int, s Secondary) { rows[i], observed[i] = p.askSecondary(ctx, asking, s, plan, wait) })

	// Translate again the serials of secondaries behind a signer.
	for i, s := range p.config.Secondaries {
		if s.Signer != "" && rows[i].Err == nil { // the signer may have been asked later
			now := p.findBehind(s, plan, observed[i])
			rows[i].Serial, rows[i].Note = now.serial, now.note
		}
	}
	return rows
}

// askSecondary asks a secondary until it has the serial, fails for good, or asking ends, and returns its row. Without
// wait, it asks once, and twice if the answer is ahead. observed is the last serial of a secondary with own serials. A
// signer's answer may take until ctx ends.
func (p *Provider) askSecondary(ctx, asking context.Context, s Secondary, plan delivery.Plan, wait bool) (row delivery.Server,
	observed serial.Serial) {
	deadline, _ := asking.Deadline()
	var before probe // an answer with a later serial, which a second must confirm

	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		now := p.probeSOA(asking, s, plan.Zone, packetTimeout)

		answered := now.serial
		if now.err == nil && s.ownSerials() {
			observed = now.serial
			now = p.resolveSerial(ctx, s, plan, now.serial)
		}

		seen := delivery.Server{Name: s.Name, Serial: now.serial, Note: now.note, Err: now.err, At: time.Now()}
		// A question cut off by the deadline may fail before the context ends, and must not replace the answer before.
		if asking.Err() != nil || !seen.At.Before(deadline) {
			if row.At.IsZero() || now.err == nil && s.Signs {
				row = seen
			}
			return row, observed
		}
		row = seen

		switch {
		// A later serial counts if two answers have it, and the stored zone has not.
		case p.isAhead(s, plan, now):
			if before.serial == now.serial {
				row.Err, row.AwaitsSerial = p.confirmAhead(asking, s, plan, now)
				return row, observed
			}
			before, pause = now, secondLook
		// The usual end: the secondary has transferred the serial.
		case now.err == nil && reaches(now.serial, plan.Serial):
			p.confirmations.noteConfirmed(s, plan, answered)
			return row, observed
		case !wait || now.isFinal(plan):
			return row, observed
		default:
			before = probe{}
		}

		select {
		case <-time.After(pause):
		case <-asking.Done():
			return row, observed
		}
	}
}

// isFinal reports whether further questions would change nothing: a refusal, or a secondary that went back to a serial
// before the confirmed, and fetches the zone at its own time.
func (n probe) isFinal(plan delivery.Plan) bool {
	if n.err != nil {
		return !n.passing
	}
	return plan.Since == plan.Serial
}

func (p *Provider) resolveSerial(ctx context.Context, s Secondary, plan delivery.Plan, observed serial.Serial) probe {
	if s.Signs {
		return p.askSigner(ctx, s, plan, observed)
	}
	return p.findBehind(s, plan, observed)
}

func reaches(has, want serial.Serial) bool { return has != 0 && !want.Ahead(has) }

// isAhead reports whether a secondary without own serials answers a later serial than this process knows of the zone.
func (p *Provider) isAhead(s Secondary, plan delivery.Plan, seen probe) bool {
	return seen.err == nil && !s.ownSerials() && p.mayBeAhead(plan, seen.serial)
}

func (p *Provider) mayBeAhead(plan delivery.Plan, at serial.Serial) bool {
	served := p.config.ServedSerial(plan.UID)
	return at.Ahead(plan.Serial) && (served == 0 || at.Ahead(served))
}

// confirmAhead compares a later serial, seen twice, with the stored serial of the zone. It returns the fault, or nil if
// the zone has changed meanwhile, and whether the zone's serial must be raised.
func (p *Provider) confirmAhead(ctx context.Context, s Secondary, plan delivery.Plan, seen probe) (fault *delivery.Error, awaits bool) {
	latest, err := p.config.LatestSerial(ctx, plan.UID)
	if err != nil {
		return delivery.Errorf(delivery.ReasonServerError, "%s has serial %d, and the serial of the zone cannot be read to compare: %w",
			s.Name, seen.serial, err), false
	}
	if !seen.serial.Ahead(latest) {
		return nil, false
	}
	return serialBehind(s, plan.Zone, latest, seen), s.Key != nil
}

func serialBehind(s Secondary, zone name.Name, latest serial.Serial, seen probe) *delivery.Error {
	e := delivery.Errorf(delivery.ReasonSerialBehind, "%s has serial %d of %s, which is ahead of %d: "+
		"it transfers nothing before the zone's serial is ahead of that", s.Name, seen.serial, zone, latest)
	if s.Key == nil {
		e.Message += "; its answers are not signed, so raise spec.minimumSerial yourself, or give it a key"
	}
	return e
}
