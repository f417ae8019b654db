// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const (
	serverTime   = 2 * time.Second // of a question
	maxQuestions = 256
	// maxHosts bounds the name servers found by the resolver.
	maxHosts = 8
)

var errTooMany = errors.New("not asked: the chain has too many questions")

// errNotPublic means that a tenant may have chosen the address, to send packets into this machine's network.
type errNotPublic struct{ server string }

func (e errNotPublic) Error() string {
	return "not asked: " + e.server + " is no public address, and no class that you may read lists it; kubectl kubizone why asks it"
}

func isPublic(server string) bool {
	at, err := netip.ParseAddrPort(server)
	if err != nil {
		return false
	}
	in := func(prefix netip.Prefix) bool { return prefix.Contains(at.Addr()) }
	return at.Addr().IsGlobalUnicast() && !at.Addr().IsPrivate() && !slices.ContainsFunc(reserved, in) &&
		(at.Addr().Is4() || globalUnicast.Contains(at.Addr()))
}

var (
	// globalUnicast is the assigned part of IPv6 (RFC 4291).
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// reserved has prefixes that may lead into a private network: this network, shared (RFC 6598), protocols,
	// benchmarks, future use, Azure's metadata, and Teredo and 6to4, which carry IPv4.
	reserved = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("168.63.129.16/32"),
		netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16")}
)

// documentation has the prefixes of examples (RFC 5737, RFC 3849), which no network routes. A newcomer's first zone has
// such name servers, and every question to them would fail.
var documentation = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}

// isExample reports whether all name servers of the zone have addresses for documentation.
func (z *ZoneFacts) isExample() bool {
	return z.Object != nil && len(z.Object.Spec.NameServers) > 0 &&
		!slices.ContainsFunc(z.Object.Spec.NameServers, func(server v1alpha1.NameServer) bool {
			return len(server.Addresses) == 0 || !slices.ContainsFunc(server.Addresses, isDocumentation)
		})
}

func isDocumentation(address string) bool {
	at, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(documentation, func(prefix netip.Prefix) bool { return prefix.Contains(at) })
}

type questions struct {
	inquiry        *inquiry
	mu             sync.Mutex
	budget         int
	answers        map[verify.Question]func() (*verify.Answer, error)
	classAddresses map[string]bool
}

func (q *questions) sendOnce(ctx context.Context, one verify.Question) (*verify.Answer, error) {
	if q.inquiry.Public && !one.Recursive && !q.classAddresses[one.Server] && !isPublic(one.Server) {
		return nil, errNotPublic{one.Server}
	}
	q.mu.Lock()
	answer, known := q.answers[one]
	if !known && q.budget == 0 {
		q.mu.Unlock()
		return nil, errTooMany
	}
	if !known {
		q.budget--
		answer = sync.OnceValues(func() (*verify.Answer, error) {
			ctx, cancel := context.WithTimeout(ctx, serverTime)
			defer cancel()
			got, err := q.inquiry.Clients.Ask(ctx, one)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %s", serverTime)
			}
			return got, err
		})
		q.answers[one] = answer
	}
	q.mu.Unlock()
	return answer()
}

func (q *questions) resolve(ctx context.Context, at name.Name, of rdata.Type) (*verify.Answer, error) {
	return q.sendOnce(ctx, verify.Question{Server: q.inquiry.Resolver, Name: at, Type: of, Recursive: true})
}

func (i *inquiry) askServers(ctx context.Context) {
	q := &questions{inquiry: i, budget: maxQuestions, answers: map[verify.Question]func() (*verify.Answer, error){},
		classAddresses: map[string]bool{}}
	for _, z := range i.zones {
		for n := range z.Servers {
			if s := &z.Servers[n]; s.Listed {
				q.classAddresses[s.Address] = true
			}
		}
	}
	var all sync.WaitGroup
	for _, z := range i.zones {
		all.Go(func() {
			q.findZone(ctx, z, i.facts)
			var both sync.WaitGroup
			both.Go(func() { q.askParents(ctx, z) })
			q.findServers(ctx, z)
			for _, f := range i.facts {
				if f.Zone == z {
					both.Go(func() { q.askAll(ctx, f) })
				}
			}
			both.Wait()
			q.askKeys(ctx, z)
		})
	}
	all.Wait()
}

func ownersOf(rows []zonefile.RR, of rdata.Type) (names []name.Name) {
	for _, row := range rows {
		if row.Type == of {
			names = append(names, row.Name)
		}
	}
	return names
}

func valuesOf(rows []zonefile.RR, at name.Name, of rdata.Type) (data []string) {
	for _, row := range rows {
		if row.Name == at && row.Type == of {
			data = append(data, row.Data)
		}
	}
	slices.Sort(data)
	return slices.Compact(data)
}

func serialIn(answer *verify.Answer, zone name.Name) (at serial.Serial, found bool) {
	for _, data := range valuesOf(answer.Answer, zone, rdata.SOA) {
		if fields := strings.Fields(data); len(fields) > 2 {
			_, err := fmt.Sscan(fields[2], &at)
			return at, err == nil
		}
	}
	return 0, false
}

func (q *questions) enclosing(ctx context.Context, at name.Name) (name.Name, error) {
	answer, err := q.resolve(ctx, at, rdata.SOA)
	if err != nil {
		return name.Name{}, fmt.Errorf("resolver %s: %w", q.inquiry.Resolver, err)
	}
	for _, apex := range ownersOf(append(slices.Clone(answer.Answer), answer.Authority...), rdata.SOA) {
		if apex == at || apex.Encloses(at) {
			return apex, nil
		}
	}
	return name.Name{}, fmt.Errorf("resolver %s answers %s, without the zone of %s", q.inquiry.Resolver, answer.RCode, at)
}

// findZone asks the resolver for the name of a zone that the user may not read. A DS is in the zone above its owner.
func (q *questions) findZone(ctx context.Context, z *ZoneFacts, paths []*Facts) {
	if !z.FQDN.IsZero() || q.inquiry.Resolver == "" {
		return // known, or without a resolver
	}
	at := slices.IndexFunc(paths, func(f *Facts) bool { return f.Zone == z && !f.AskedName.IsZero() })
	if at < 0 {
		return
	}
	f := paths[at]
	owner := f.AskedName
	if above, ok := owner.Parent(); ok && f.Type == rdata.DS {
		owner = above
	}
	apex, err := q.enclosing(ctx, owner)
	if err != nil {
		return
	}

	z.FQDN = apex
	if f.Record != nil {
		z.View = f.Record.Status.View
	}
	for n := range z.Parents {
		z.Parents[n].Zone = apex
	}
}

func (q *questions) findServers(ctx context.Context, z *ZoneFacts) {
	if len(z.Servers) > 0 || z.FQDN.IsZero() || q.inquiry.Resolver == "" {
		return
	}
	addresses := map[string]string{}
	var hosts []string
	if z.Object != nil {
		for _, server := range z.Object.Spec.NameServers {
			host, err := name.ParseIn(server.Name, z.FQDN)
			if err != nil {
				continue
			}
			hosts = append(hosts, host.String())
			if len(server.Addresses) > 0 {
				addresses[host.String()] = server.Addresses[0]
			}
		}
		if len(z.Parents) > 0 {
			hosts = append(hosts, z.Parents[0].WantNS...)
		}
	} else if answer, err := q.resolve(ctx, z.FQDN, rdata.NS); err == nil {
		hosts = valuesOf(answer.Answer, z.FQDN, rdata.NS)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	for _, host := range hosts[:min(len(hosts), maxHosts)] {
		server := Server{Of: host, OwnSerial: z.Object == nil}
		switch address := addresses[host]; {
		case isDocumentation(address):
			server.NoAddress = "not asked: " + address + " is an address for documentation, where no server is"
		case address != "":
			server.Address = transfer.AddPort(address)
		default:
			server.Address, server.NoAddress = q.findAddress(ctx, host), addressUnknown
		}
		z.Servers = append(z.Servers, server)
	}
}

func (q *questions) findAddress(ctx context.Context, host string) string {
	at, err := name.Parse(host)
	if err != nil || q.inquiry.Resolver == "" {
		return ""
	}
	for _, of := range []rdata.Type{rdata.A, rdata.AAAA} {
		if answer, err := q.resolve(ctx, at, of); err == nil {
			for _, row := range answer.Answer {
				if row.Type == of {
					return net.JoinHostPort(row.Data, "53")
				}
			}
		}
	}
	return ""
}

func (q *questions) askAll(ctx context.Context, f *Facts) {
	answers := make([]ServerAnswer, min(len(f.Zone.Servers), maxLinks))
	var all sync.WaitGroup
	for n := range answers {
		answers[n] = notAsked(&f.Zone.Servers[n])
		if server := f.Zone.Servers[n].Address; server != "" && !f.AskedName.IsZero() && !f.Zone.FQDN.IsZero() {
			all.Go(func() { answers[n] = q.askServer(ctx, server, f) })
		}
	}
	all.Wait()
	f.Answers = answers
}

func (q *questions) askServer(ctx context.Context, server string, f *Facts) ServerAnswer {
	zone := f.Zone.FQDN
	soa, err := q.sendOnce(ctx, verify.Question{Server: server, Name: zone, Type: rdata.SOA})
	if errors.Is(err, errTooMany) || errors.As(err, new(errNotPublic)) {
		return ServerAnswer{Err: err.Error()}
	}
	a := ServerAnswer{Asked: true}
	if err != nil {
		a.Err = err.Error()
		return a
	}
	a.RCode, a.Authoritative = soa.RCode, soa.Authoritative
	if soa.Authoritative {
		a.Serial, a.HasSOA = serialIn(soa, zone)
	}
	if f.AskedName == zone && f.Type == rdata.SOA {
		return a
	}
	answer, err := q.sendOnce(ctx, verify.Question{Server: server, Name: f.AskedName, Type: f.Type})
	if err != nil {
		a.Err = err.Error()
		return a
	}
	a.RCode, a.Authoritative = answer.RCode, answer.Authoritative
	a.Data = valuesOf(answer.Answer, f.AskedName, f.Type)
	if alias := valuesOf(answer.Answer, f.AskedName, rdata.CNAME); len(alias) > 0 && f.Type != rdata.CNAME {
		a.Alias = alias[0]
	}
	if !answer.Authoritative {
		for _, cut := range ownersOf(answer.Authority, rdata.NS) {
			if cut != zone && zone.Encloses(cut) {
				a.Referral = cut.String()
				if f.Type == rdata.NS && f.AskedName == cut { // the answer for NS at a cut is the referral
					a.Data = valuesOf(answer.Authority, cut, rdata.NS)
				}
			}
		}
	}
	if len(a.Data) == 0 { // glue
		a.Data = valuesOf(answer.Additional, f.AskedName, f.Type)
	}
	return a
}

func (q *questions) askParents(ctx context.Context, z *ZoneFacts) {
	if q.inquiry.Resolver == "" {
		return
	}
	for n := range z.Parents {
		if p := &z.Parents[n]; !p.Ours { // ours are read from the API
			q.askForeign(ctx, z, p)
		}
	}
}

// askForeign asks the servers of a zone above that is no Zone here, such as org. above example.org. The root, and a
// zone of unknown name, have none.
func (q *questions) askForeign(ctx context.Context, z *ZoneFacts, p *ParentFacts) {
	if z.isExample() {
		p.Err = "not asked: the name servers of the zone have addresses for documentation, so nobody delegates it"
		return
	}
	if p.Zone.IsZero() || p.Zone == name.Root {
		return
	}
	p.Asked, p.Resolver = true, q.inquiry.Resolver
	if err := q.askParent(ctx, p); err != nil {
		p.Err, p.Asked = err.Error(), !errors.As(err, new(errNotPublic))
	}
	if answer, err := q.resolve(ctx, z.FQDN, rdata.SOA); err == nil && z.Object != nil {
		p.Resolved = z.hasSerialOf(answer)
	}
}

// hasSerialOf distinguishes this zone from another of the same name, by the serial in a resolver's answer.
func (z *ZoneFacts) hasSerialOf(answer *verify.Answer) bool {
	at, found := serialIn(answer, z.FQDN)
	return found && (at == serial.Serial(z.Object.Status.SettledSerial) || at == serial.Serial(z.Object.Status.Serial))
}

func (q *questions) askKeys(ctx context.Context, z *ZoneFacts) {
	if len(z.Parents) == 0 || len(z.Parents[0].DS) == 0 {
		return
	}
	for _, s := range z.Servers[:min(len(z.Servers), maxHosts)] {
		if s.Address == "" {
			continue
		}
		answer, err := q.sendOnce(ctx, verify.Question{Server: s.Address, Name: z.FQDN, Type: rdata.DNSKEY})
		if err == nil && answer.Authoritative {
			z.Parents[0].Keyless = len(ownersOf(answer.Answer, rdata.DNSKEY)) == 0
			return
		}
	}
}

func (q *questions) askParent(ctx context.Context, p *ParentFacts) error {
	parent, _ := p.Zone.Parent()
	above, err := q.enclosing(ctx, parent)
	if err != nil {
		return err
	}
	p.ParentName = above
	answer, err := q.resolve(ctx, above, rdata.NS)
	if err != nil {
		return fmt.Errorf("NS of %s: resolver %s: %w", above, q.inquiry.Resolver, err)
	}
	hosts := valuesOf(answer.Answer, above, rdata.NS)
	failure := fmt.Errorf("resolver %s names no server of %s", q.inquiry.Resolver, above)
	for _, host := range hosts[:min(len(hosts), maxHosts)] {
		server := q.findAddress(ctx, host)
		if server == "" {
			failure = fmt.Errorf("resolver %s has no address of %s, a server of %s", q.inquiry.Resolver, host, above)
			continue
		}
		ns, err := q.sendOnce(ctx, verify.Question{Server: server, Name: p.Zone, Type: rdata.NS})
		if err == nil && ns.RCode != "NOERROR" && ns.RCode != "NXDOMAIN" {
			err = fmt.Errorf("it answers %s", ns.RCode)
		}
		if err != nil {
			failure = fmt.Errorf("%s, a server of %s: %w", host, above, err)
			continue
		}
		p.NS = valuesOf(append(slices.Clone(ns.Answer), ns.Authority...), p.Zone, rdata.NS)
		if ds, err := q.sendOnce(ctx, verify.Question{Server: server, Name: p.Zone, Type: rdata.DS}); err == nil {
			p.DS = keyTags(valuesOf(ds.Answer, p.Zone, rdata.DS))
		}
		return nil
	}
	return failure
}
