// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/replay"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/slots"
	"kubi.zone/kubizone/pkg/update"
	"kubi.zone/kubizone/pkg/update/wire"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Updates carries out what keys may change (RFC 2136). Its methods are called from many goroutines at once.
type Updates interface {
	// Update carries out a message and returns the RCODE of its answer: 0 where what it says is in the zone. A message
	// without updates asks whether the zone has rules for the key's tenant, and with a prerequisite whether the tenant
	// may write its name: REFUSED or NOTAUTH where not.
	Update(ctx context.Context, key *UpdateKey, m *update.Message, from netip.Addr) (rcode uint16)
	// Share is what updates made in a zone for the key's tenant, of what the key may write. An error: it is not known.
	Share(ctx context.Context, key *UpdateKey, zone name.Name) ([]content.RRset, error)
}

// Transfer says what a key that may write may transfer.
type Transfer int

const (
	// TransferNone is nothing.
	TransferNone Transfer = iota
	// TransferOwn is what Updates.Share returns, between the zone's SOA.
	TransferOwn
	// TransferZone is each zone of the tenant itself.
	TransferZone
)

// UpdateKey is a TSIG key with which updates are sent.
type UpdateKey struct {
	tsig.Key
	// ID tells keys apart for Updates.
	ID string
	// Tenant is the namespace for which it writes, View the view of its zones.
	Tenant, View string
	// Covers reports whether the key may write some type at a name.
	Covers func(fqdn name.Name) bool
	// Reaches reports whether some name that the key may write lies in a zone of that name.
	Reaches  func(zone name.Name) bool
	Transfer Transfer
}

// updater is an update key as the roster has it.
type updater struct {
	*UpdateKey
	signing *tsig.SigningKey
	// advised is when the log last told of a client with another algorithm, in unix seconds.
	advised atomic.Int64
	// open are the zones of its view, as of a class that lets the key in.
	open []opening
}

// SetUpdateKeys replaces the keys with which updates are sent, one of each name. While a class has a key of the name,
// the update key is not served. The first call takes up to a second: signatures count whole seconds, and a message of
// the second in which the primary began may be a replay.
func (p *Primary) SetUpdateKeys(keys []*UpdateKey) error {
	time.Sleep(min(time.Second, p.tcp.updates.answered.Opens().Sub(p.config.Clock())))
	return p.classes.setUpdaters(keys)
}

// HasClassKey reports whether a class, or the primary itself, has a key of a name.
func (p *Primary) HasClassKey(keyName string) bool {
	return p.classes.roster.Load().byKey[keyName] != nil
}

func (s *classes) setUpdaters(keys []*UpdateKey) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	updaters := map[string]*updater{}
	for _, key := range keys {
		signing, err := tsig.NewSigningKey(key.Key)
		if err != nil {
			return fmt.Errorf("update key %s: %w", key.ID, err)
		}
		updaters[key.Name] = &updater{UpdateKey: key, signing: signing,
			open: []opening{{Class: &Class{all: s, tenant: key.Tenant, views: []string{key.View}}}}}
	}
	after, err := newRoster(s.roster.Load().classes, updaters)
	if err != nil {
		return err
	}
	s.roster.Store(after)
	return nil
}

// updaterOf is the update key that signed a request; nil: none did.
func (r *roster) updaterOf(key *tsig.SigningKey) *updater {
	if key == nil {
		return nil
	}
	return r.updaters[key.Name]
}

// adviseInterval is the time between two lines of the log about the algorithm of a key, which any source can cause.
const adviseInterval = time.Minute

// adviseAlgorithm says what to set where a client signs with another algorithm than its update key has: most clients
// begin with HMAC-MD5 or HMAC-SHA1, which are not served. "" says nothing: it is another key, or was said a moment ago.
func (r *roster) adviseAlgorithm(known *tsig.SigningKey, asked string, now time.Time) string {
	u := r.updaterOf(known)
	if u == nil {
		return ""
	}
	last := u.advised.Load()
	if now.Unix()-last < int64(adviseInterval/time.Second) || !u.advised.CompareAndSwap(last, now.Unix()) {
		return ""
	}
	return fmt.Sprintf("a client of update key %s signs with %s, and the key is for %s: set the algorithm at the client",
		u.ID, strings.TrimSuffix(asked, "."), strings.TrimSuffix(string(u.Algorithm), "."))
}

// pendingUpdate is a message of an update key that waits to be carried out.
type pendingUpdate struct {
	request request
	key     *updater
	from    netip.Addr
	// octets is an UPDATE as received, which callUpdates parses. Nil: the message is a question, and field message asks
	// Updates whether the key may have its answer.
	octets  []byte
	message *update.Message
	overTCP bool
	waits   *slots.Slot
}

const (
	// maxUpdates bounds the messages that are carried out at once, and maxUpdatesOfTenant those of one tenant, which
	// may have the spare ones besides: messages for one zone that are under way at once share transactions.
	maxUpdates, maxUpdatesOfTenant, spareUpdates = 64, 8, 24
	// maxWaitingUpdates bounds those that wait for that, maxWaitingOctets their octets.
	maxWaitingUpdates, maxWaitingUpdatesOfTenant = 512, 64
	maxWaitingOctets, maxWaitingOctetsOfTenant   = 4 << 20, 512 << 10
	// updateTimeUDP is about as long as a client waits for an answer over UDP before it sends the message again.
	updateTimeUDP, updateTimeTCP = 5 * time.Second, 30 * time.Second
)

// updatePool carries out a bounded number of updates at once, and answers a repeated message with its first answer. A
// client without an answer sends the same octets again: the first copy may have made their prerequisites (RFC 2136
// §2.4) false, and an attacker must not replay a message after a later one.
type updatePool struct {
	updates          Updates
	log              klog.Logger
	running, waiting *slots.Slots
	answered         *replay.Memory
	entered          sync.WaitGroup // messages over UDP

	mu       sync.Mutex
	octets   int
	octetsOf map[string]int // by tenant
}

func newUpdatePool(updates Updates, clock func() time.Time, log klog.Logger) *updatePool {
	return &updatePool{updates: updates, log: log, running: slots.New(maxUpdates, maxUpdatesOfTenant).WithSpare(spareUpdates),
		waiting: slots.New(maxWaitingUpdates, maxWaitingUpdatesOfTenant), answered: replay.New(clock, tsig.Fudge),
		octetsOf: map[string]int{}}
}

// enterQueue gives a message a place in the queue, and a copy of its octets; false: the queue is full. After true the
// caller calls carryOut.
func (p *updatePool) enterQueue(u *pendingUpdate) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	tenant, octets := u.key.Tenant, len(u.octets)
	if p.octets+octets > maxWaitingOctets || p.octetsOf[tenant]+octets > maxWaitingOctetsOfTenant {
		return false
	}
	if u.waits, _ = p.waiting.Take(slots.Client{Tenant: tenant}, nil); u.waits == nil {
		return false
	}
	u.octets = bytes.Clone(u.octets)
	p.countOctets(tenant, octets)
	return true
}

// leaveQueue gives the place of a message back.
func (p *updatePool) leaveQueue(u *pendingUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.countOctets(u.key.Tenant, -len(u.octets))
	u.waits.GiveBack()
}

func (p *updatePool) countOctets(tenant string, octets int) {
	p.octets += octets
	if p.octetsOf[tenant] += octets; p.octetsOf[tenant] == 0 {
		delete(p.octetsOf, tenant)
	}
}

// carryOut carries a queued message out and returns its RCODE: SERVFAIL if that takes longer than within, BADTIME if
// the message may be a replay.
func (p *updatePool) carryOut(ctx context.Context, u *pendingUpdate, within time.Duration) uint16 {
	defer p.leaveQueue(u)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if u.octets == nil {
		return p.callWhenFree(ctx, u)
	}
	answer, first := p.answered.Begin(u.key.Tenant, u.id(), int64(u.request.signature.Time))
	switch {
	case answer == nil:
		p.logRefusal(u, "signed before what is remembered of updates")
		return tsig.BadTime
	case first:
		rcode := p.callWhenFree(ctx, u)
		answer.End(rcode, rcode != rcodeServFail)
		return rcode
	}
	if rcode, ok := answer.Wait(ctx); ok {
		return rcode
	}
	return rcodeServFail
}

func (p *updatePool) logRefusal(u *pendingUpdate, why string) {
	p.log.V(2).Info("Refused", "zone", u.request.qname.String(), "from", u.from.String(), "key", u.key.ID, "why", why)
}

// id identifies the octets of a message: its signature covers all of them.
func (u *pendingUpdate) id() string {
	sum := sha256.Sum256(append([]byte(u.key.Name), u.request.signature.MAC...))
	return hex.EncodeToString(sum[:16])
}

// callWhenFree has a message carried out when there is a place for it; SERVFAIL where there is none in time.
func (p *updatePool) callWhenFree(ctx context.Context, u *pendingUpdate) uint16 {
	place := p.running.TakeInOrder(ctx, slots.Client{Tenant: u.key.Tenant})
	if place == nil {
		return rcodeServFail
	}
	defer place.GiveBack()
	return p.callUpdates(ctx, u)
}

// callUpdates parses a message and calls Updates. A panic is answered with SERVFAIL.
func (p *updatePool) callUpdates(ctx context.Context, u *pendingUpdate) (rcode uint16) {
	defer func() {
		if why := recover(); why != nil {
			p.log.Error(fmt.Errorf("panic: %v", why), "Update not carried out; this is a defect", "key", u.key.ID,
				"stack", string(debug.Stack()))
			rcode = rcodeServFail
		}
	}()
	m := u.message
	if u.octets != nil {
		read, failure := wire.Parse(u.octets)
		if failure != nil {
			p.logRefusal(u, failure.Reason)
			return uint16(failure.RCode)
		}
		m = read
		m.ID = u.id()
	}
	return p.updates.Update(ctx, u.key.UpdateKey, m, u.from)
}

// answerUpdater takes a request in that a key signed with which updates are sent: an update, and the questions that
// clients ask before one. All else is REFUSED.
func (r *responder) answerUpdater(req request, msg []byte, key *updater, from netip.Addr, overTCP bool,
	reply func(rcode uint16, why string) answer) answer {
	pending := &pendingUpdate{request: req.copyForTransfer(), key: key, from: from, overTCP: overTCP}
	if req.opcode == opcodeUpdate {
		pending.octets = msg
		return answer{zone: req.qname, update: pending}
	}
	zone, ok := r.findEnclosingOf(key, req)
	if !ok {
		return reply(rcodeRefused, "zone not served to the update key")
	}
	atApex := req.qname == zone.FQDN()
	// Which names of a zone are the tenant's the rules of the zone say, which are not here: an update without updates
	// asks for that.
	pending.message = &update.Message{Zone: zone.FQDN()}
	switch {
	case req.qtype == typeAXFR || req.qtype == typeIXFR:
		return r.transferToUpdater(req, key, zone, overTCP, reply)
	case req.qtype == typeSOA, atApex && req.qtype == uint16(rdata.NS):
	case key.Covers(req.qname):
		pending.message.Prerequisites = []update.RR{{Name: req.qname, Type: rdata.ANY, Class: update.ClassANY}}
	default:
		return reply(rcodeRefused, "question beyond the names of the update key")
	}
	return answer{zone: req.qname, update: pending}
}

// answerAsked answers a question of an update key, if Updates lets its tenant write the name, with the RRsets at that
// very name: a tenant that points a CNAME to a name of another one learns nothing of that.
func (r *responder) answerAsked(u *pendingUpdate, rcode uint16) answer {
	req, key := u.request, u.key
	refuse := func(rcode uint16) answer { return answer{msg: r.replyStatus(req, key.signing, rcode), zone: req.qname} }
	switch rcode {
	case rcodeSuccess, rcodeNXDomain:
	case rcodeServFail:
		return refuse(rcodeServFail)
	default:
		return refuse(rcodeRefused)
	}
	zone, ok := r.findEnclosingOf(key, req)
	switch {
	case !ok || zone.FQDN() != u.message.Zone: // it has changed meanwhile
		return refuse(rcodeServFail)
	case req.qtype == typeSOA && req.qname != zone.FQDN():
		return r.replySOABelow(req, key.signing, zone, u.overTCP)
	}
	q, ok := readName(req.question[:len(req.question)-4], true)
	if !ok {
		return refuse(rcodeRefused)
	}
	res, fault := resolveHere(zone, q, rdata.Type(req.qtype), !u.overTCP)
	if fault != nil {
		return answer{msg: r.replyStatus(req, key.signing, rcodeServFail), zone: req.qname, fault: fault}
	}
	return r.writeResult(req, key.signing, zone, res, u.overTCP)
}

// findEnclosingOf is the zone that a question of an update key is about: the one with the longest name at or above the
// question's, in the key's view and where the key may write something.
func (r *responder) findEnclosingOf(key *updater, req request) (*zoneview.Snapshot, bool) {
	for at, ok := req.qname, !req.qname.IsZero(); ok; at, ok = at.Parent() {
		if zone, found := r.findZone(key.open, at); found {
			return zone, key.Reaches(at)
		}
	}
	return nil, false
}

// transferToUpdater transfers what the key may, whole: clients that update a zone keep no serial.
func (r *responder) transferToUpdater(req request, key *updater, zone *zoneview.Snapshot, overTCP bool,
	reply func(rcode uint16, why string) answer) answer {
	whole := &transfer{zone: zone, request: req.copyForTransfer(), key: key.signing}
	switch {
	case !overTCP:
		return reply(rcodeRefused, "a transfer to an update key over UDP")
	case req.qname != zone.FQDN():
		return reply(rcodeRefused, "zone not served to the update key")
	case key.Transfer == TransferZone && zone.Zone().Namespace == key.Tenant:
		return answer{transfer: whole, zone: req.qname}
	case key.Transfer == TransferOwn:
		whole.share = key.UpdateKey
		return answer{transfer: whole, zone: req.qname}
	}
	return reply(rcodeRefused, "the update key has no transfer of this zone")
}

// replySOABelow answers a question for the SOA of a name below an apex by the SOA in the authority section, whether the
// name is there or not: clients look for the zone of a name so, and are to learn nothing else.
func (r *responder) replySOABelow(req request, key *tsig.SigningKey, zone *zoneview.Snapshot, overTCP bool) answer {
	m := newSmallMessage()
	m.beginMessage(req.id, req.replyFlags(flagAA, rcodeSuccess), req.question, zone.FQDN(), roomFor(req, key, overTCP))
	record, fault := zone.PackedSOA()
	if fault == nil && !m.addSets([]owned{{Packed: record}}, sectionAuthority) {
		fault = errTooLarge
	}
	if fault != nil {
		return answer{msg: r.replyStatus(req, key, rcodeServFail), fault: fault}
	}
	return answer{msg: r.finishReply(m, req, key, rcodeSuccess), zone: zone.FQDN()}
}

// readShare makes the zone that is transferred where the peer gets its tenant's share alone.
func (s *server) readShare(ctx context.Context, t *transfer) error {
	sets, err := s.updates.updates.Share(ctx, t.share, t.zone.FQDN())
	if err != nil {
		return err
	}
	header := t.zone.Header()
	header.NameServers = nil
	t.zone = zoneview.NewSnapshot(t.zone.Zone(), header, t.zone.Serial(), t.zone.N(), t.zone.State(), slices.Values(sets))
	return nil
}
