// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	// A larger zone is compared by its SOA and a random sample of askedRRsets RRsets.
	maxTransferred, askedRRsets = 100_000, 100
	// A transfer may have the octets of the zone's text, recordOctets for each record, and spareOctets, because servers
	// may send and sign each record alone.
	recordOctets, spareOctets = 512, 64 << 10
	messageTimeout            = 5 * time.Second
	maxFound                  = 1000
)

var errOtherSerial = errors.New("it has another serial now")

// difference lists the RRsets that differ at the zone's serial, at most maxFound each: RRsets of the zone in ours,
// others in foreign.
type difference struct {
	ours, foreign []delivery.RRsetKey
}

func (d *difference) String() string {
	switch {
	case len(d.ours) > 1:
		return fmt.Sprintf("%s and %d more RRsets", d.ours[0], len(d.ours)-1)
	case len(d.ours) == 1:
		return d.ours[0].String()
	case len(d.foreign) > 0:
		return fmt.Sprintf("%d RRsets that the zone does not have", len(d.foreign))
	}
	return "kubectl kubizone verify names them"
}

type zoneSummary struct {
	entries, octets int
	digest          digest
	sample          []delivery.RRset
}

// measureZone reads the zone once, and returns its size, digest, and a random sample of askedRRsets RRsets. Each RRset
// has the same chance (reservoir sampling), so a zone of any size needs little memory.
func measureZone(plan delivery.Plan) (m zoneSummary) {
	sets := 0
	for set := range plan.All {
		if sets++; len(m.sample) < askedRRsets {
			m.sample = append(m.sample, set)
		} else if at := rand.IntN(sets); at < askedRRsets {
			m.sample[at] = set
		}
		m.digest.add(hashSet(set))
		m.entries += len(set.Data)
		for _, data := range set.Data {
			m.octets += len(set.Name.String()) + len(data)
		}
	}
	return m
}

// naming limits the comparisons that name differing RRsets, because they hold the zone's RRsets in memory.
var naming = make(chan struct{}, 4)

// comparison compares a server's records with the zone's, apart from DNSSEC records of a signer. The digest adds the
// hashes of the zone's RRsets, and subtracts the hashes of the server's records. If the digest ends at zero, the data
// are equal.
type comparison struct {
	plan       delivery.Plan
	digest     digest
	soaDiffers bool // apart from the serial
	// sets has the digest of each RRset that differs so far, at most maxNames. Nil if the comparison need not name
	// RRsets.
	sets     map[delivery.RRsetKey]digest
	maxNames int
}

func (c *comparison) addSet(set delivery.RRset) {
	sum := hashSet(set)
	if c.digest.add(sum); sum != (digest{}) {
		c.sets[set.Key()] = sum
	}
}

// takeRecord subtracts a record of the server. If RRsets are named, an RRset that is complete leaves c.sets, and a
// record that the zone does not have stays there.
func (c *comparison) takeRecord(rr mdns.RR) {
	header := rr.Header()
	// The serial is compared elsewhere. Other fields of the SOA must be equal.
	if header.Rrtype == mdns.TypeSOA {
		data, _ := readData(rr)
		soa := c.plan.SOA
		c.soaDiffers = len(soa.Data) > 0 && formatSOA(header.Ttl, data) != formatSOA(soa.TTL, soa.Data[0])
		return
	}

	sum := hashTransferred(rr)
	if c.digest.subtract(sum); c.sets == nil {
		return
	}

	owner, _ := name.Parse(header.Name) // zero means no name of the zone
	key := delivery.RRsetKey{Name: owner, Type: rdata.Type(header.Rrtype)}
	rest := c.sets[key]
	switch rest.subtract(sum); {
	case rest == digest{}:
		delete(c.sets, key)
	// A server with a million other records must not fill the memory. The digest finds the difference in any case.
	case len(c.sets) < c.maxNames:
		c.sets[key] = rest
	}
}

// endComparison returns nil if server and zone are equal, otherwise the differing RRsets, as far as they are known.
func (c *comparison) endComparison() *difference {
	if c.digest == (digest{}) && !c.soaDiffers {
		return nil
	}

	found := &difference{}
	// RRsets left in c.sets: those of the zone are ours, all others foreign.
	for set := range c.plan.All {
		if _, differs := c.sets[set.Key()]; differs {
			found.ours = append(found.ours, set.Key())
			delete(c.sets, set.Key())
		}
	}
	found.foreign = slices.Collect(maps.Keys(c.sets))

	found.ours, found.foreign = found.ours[:min(len(found.ours), maxFound)], found.foreign[:min(len(found.foreign), maxFound)]
	return found
}

// readContent compares the data of a secondary with the zone, and returns the difference, nil for none, and the octets
// received. The error is errOtherSerial if the secondary got another serial meanwhile.
func (p *Provider) readContent(ctx context.Context, s Secondary, plan delivery.Plan, summary zoneSummary) (*difference, int, error) {
	// Of a large zone, ask only for a sample of the RRsets.
	c := &comparison{plan: plan}
	if summary.entries > maxTransferred {
		c.sets, c.maxNames = map[delivery.RRsetKey]digest{}, 2*askedRRsets
		return p.askContent(ctx, s, c, summary.sample)
	}

	// Name the differing RRsets, unless many comparisons do so at present.
	select {
	case naming <- struct{}{}:
		defer func() { <-naming }()
		c.sets = map[delivery.RRsetKey]digest{}
		for set := range plan.All {
			c.addSet(set)
		}
		c.maxNames = len(c.sets) + maxFound
	default:
		c.digest = summary.digest
	}

	// Transfer the zone, up to the size that it can have.
	most := summary.octets + summary.entries*recordOctets + spareOctets
	source := transfer.Source{Server: s.Addr.String(), Zone: plan.Zone, Key: s.Key, Dial: p.dialerOf(s), Wait: messageTimeout, Limit: most}
	got, err := transfer.Fetch(ctx, source, nil, func(rr mdns.RR, _ bool) { c.takeRecord(rr) })

	switch {
	case got.Serial != 0 && got.Serial != plan.Serial:
		return nil, got.Octets, errOtherSerial
	// Fetch stops there. Differing without names.
	case got.Octets > most: // more than the zone can have
		return &difference{}, got.Octets, nil
	case err != nil:
		return nil, got.Octets, err
	}
	return c.endComparison(), got.Octets, nil
}

// askContent compares the SOA and a sample of RRsets by questions over one TCP connection, for a zone that is too large
// to transfer each day.
func (p *Provider) askContent(ctx context.Context, s Secondary, c *comparison, sets []delivery.RRset) (_ *difference, octets int,
	err error) {
	conn, err := p.dialerOf(s)(ctx, "tcp", s.Addr.String())
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	soa := delivery.RRset{Name: c.plan.Zone, Type: rdata.SOA} // shows whether the server still has the serial
	for _, set := range append([]delivery.RRset{soa}, sets...) {
		read, err := c.askRRset(ctx, conn, s, set)
		if octets += read; err != nil {
			return nil, octets, err
		}
	}
	return c.endComparison(), octets, nil
}

// askRRset asks for one RRset and adds zone's and server's data to the comparison. An answer without authority, as of a
// name below a cut, is not compared.
func (c *comparison) askRRset(ctx context.Context, conn net.Conn, s Secondary, set delivery.RRset) (octets int, err error) {
	deadline, _ := ctx.Deadline() // zero is none
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, err
	}

	answer, err := transfer.Exchange(ctx, conn, transfer.NewQuestion(set.Name, uint16(set.Type)), s.Key)
	if err != nil {
		return 0, err
	}

	octets = answer.Len()
	if set.Type == rdata.SOA {
		switch at, ok := transfer.SerialIn(answer, c.plan.Zone); {
		case !ok:
			return octets, fmt.Errorf("it answers %s to a question for the SOA over TCP", mdns.RcodeToString[answer.Rcode])
		case at != c.plan.Serial:
			return octets, errOtherSerial
		}
	} else if !answer.Authoritative {
		// NS and glue of a child zone come as a referral.
		return octets, nil
	}

	if answer.Rcode != mdns.RcodeSuccess && answer.Rcode != mdns.RcodeNameError {
		return octets, fmt.Errorf("it answers %s to a question for %s", mdns.RcodeToString[answer.Rcode], set.Key())
	}

	c.addSet(set)
	for _, rr := range answer.Answer {
		// A signer adds RRSIGs, and an alias its target: only the RRset asked for counts.
		if rr.Header().Rrtype == uint16(set.Type) && mdns.CanonicalName(rr.Header().Name) == set.Name.String() {
			c.takeRecord(rr)
		}
	}
	return octets, nil
}

// joinDifferences returns the RRsets of all differences, sorted and without duplicates, for the Drift of the class. An
// element of found may be nil.
func joinDifferences(found []*difference) (differing, foreign []delivery.RRset) {
	join := func(listed func(*difference) []delivery.RRsetKey) (sets []delivery.RRset) {
		var keys []delivery.RRsetKey
		for _, one := range found {
			if one != nil {
				keys = append(keys, listed(one)...)
			}
		}
		slices.SortFunc(keys, delivery.RRsetKey.Compare)
		for _, key := range slices.Compact(keys) {
			sets = append(sets, delivery.RRset{Name: key.Name, Type: key.Type})
		}
		return sets
	}
	differing = join(func(d *difference) []delivery.RRsetKey { return d.ours })
	return differing, join(func(d *difference) []delivery.RRsetKey { return d.foreign })
}
