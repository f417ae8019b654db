// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

type Target struct {
	Zone types.NamespacedName
	// Namespace is that of the Records.
	Namespace string
	// View is for a new Zone. An existing Zone must be in this view, unless View is "".
	View string
	// Origin completes relative names before the file's first $ORIGIN. Zero means the name of the Zone or, for a new
	// Zone, the name in the file.
	Origin name.Name
	// CreateZone creates a missing Zone from the SOA. The file then defines the whole zone, so its NS at the apex
	// become Records.
	CreateZone bool
}

// Import writes a zone file's records into a Zone. For an SOA or name servers that differ, Import reports a command to
// run. After an error, Finish removes no Record of the Zone.
func (l *Loader) Import(ctx context.Context, path string, text []byte, target Target) (Result, error) {
	result, err := l.importFile(ctx, path, text, target)
	if err != nil {
		l.zoneScope(target.Zone, target.Namespace).doubt = path + " was not imported"
	}
	l.reportHidden()
	if err != nil {
		return result, fmt.Errorf("import %s: %w", path, err)
	}
	return result, nil
}

func (l *Loader) importFile(ctx context.Context, path string, text []byte, target Target) (Result, error) {
	began := time.Now()
	zone, err := l.getZone(ctx, target.Zone)
	if err != nil {
		return Result{}, err
	}
	if zone != nil && target.View != "" && zone.Status.View != target.View {
		return Result{}, fmt.Errorf("zone %s is in view %q, not %q: leave out --view, or name the zone of that view", target.Zone,
			zone.Status.View, target.View)
	}
	into := l.zoneScope(target.Zone, target.Namespace)
	p, to, result, err := l.planImport(ctx, path, text, zone, target)
	if p != nil {
		l.reportPlan(p)
		result.Refused += len(p.refusals)
	}
	if err != nil {
		return result, err
	}
	more, err := l.putRecords(ctx, path, p.sets, to, into)
	result.Add(more)
	if err != nil {
		return result, err
	}
	l.printf("%s into zone %s (%s): %d RRsets; %s, in %.1f s", filepath.Base(path), to.fqdn, target.Zone, len(p.sets), result,
		time.Since(began).Seconds())
	into.readable = into.readable || to.ttl != nil
	return result, nil
}

func (l *Loader) getZone(ctx context.Context, id types.NamespacedName) (zone *v1alpha1.Zone, err error) {
	zone, err = rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
		return l.typed.KubizoneV1alpha1().Zones(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	})
	switch {
	case err == nil && zone.Status.FQDN == "":
		return nil, fmt.Errorf("zone %s has no name yet: the zone that its zoneRef names does not exist; create that one first", id)
	case err == nil:
		return zone, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		l.printf("no permission to read zone %s (%v): its name is taken from the file, and every record gets a TTL of its own", id, err)
		return &v1alpha1.Zone{}, nil
	}
	return nil, fmt.Errorf("zone %s: %w", id, err)
}

func (l *Loader) planImport(ctx context.Context, path string, text []byte, zone *v1alpha1.Zone, target Target) (*plan, *destination, Result,
	error) {
	// 1. Parse the file.
	p := &plan{view: target.View}
	guess := guessOrigin(path, text)
	options := zonefile.ReadOptions{Origin: target.Origin, Guess: guess.answerReader}
	if zone != nil && zone.Status.FQDN != "" {
		fqdn, err := name.Parse(zone.Status.FQDN)
		if err != nil {
			return nil, nil, Result{}, fmt.Errorf("zone %s: %w", target.Zone, err)
		}
		ttl := uint32(*zone.Spec.TTL)
		p.fqdn, options.TTL = fqdn, &ttl
		if options.Origin.IsZero() {
			options.Origin = fqdn
		}
	}
	options.Origin = guess.orGiven(options.Origin)
	all, soa, err := p.readRows(path, zonefile.Read(bytes.NewReader(text), options))
	if err != nil {
		return p, nil, Result{}, err
	}
	if guess.asked && !guess.missed() {
		l.printf("%s: no $ORIGIN before its first relative name; %s is assumed, from %s", path, guess.origin, guess.from)
	}
	noSOA := func(what string) error {
		next := "create the Zone, or ask its owner for the right to get it"
		if guess.missed() {
			next = howToSayOrigin
		}
		return fmt.Errorf("%s: %w; %s", what, p.noSOA(), next)
	}
	// 2. Find the Zone, or create it from the SOA.
	to := &destination{zone: target.Zone, namespace: target.Namespace}
	var result Result
	switch {
	case soa >= 0 && !p.fqdn.IsZero() && all[soa].Name != p.fqdn:
		return p, nil, Result{}, fmt.Errorf("the file is of zone %s (line %d), and %s is zone %s: name the Zone of the file, "+
			"or the file of the Zone", all[soa].Name, all[soa].Line, target.Zone, p.fqdn)
	case zone == nil && soa < 0:
		return p, nil, Result{}, noSOA(fmt.Sprintf("zone %s does not exist, and it cannot be made of the file", target.Zone))
	case zone == nil:
		if err := p.takeSOA(path, all, soa, target.Namespace); err != nil {
			return p, nil, Result{}, err
		}
		result, err = l.makeZone(ctx, p, target)
		for p.dropRefused(err) {
			result, err = l.makeZone(ctx, p, target)
		}
		if err != nil {
			return p, nil, result, err
		}
		to.ttl = p.spec.TTL
	case p.fqdn.IsZero() && soa < 0:
		return p, nil, Result{}, noSOA(fmt.Sprintf("no permission to read zone %s, and the file does not give its name", target.Zone))
	case p.fqdn.IsZero():
		p.fqdn = all[soa].Name
		to.namespace = target.Namespace
	default:
		result.Present = 1
		to.ttl = zone.Spec.TTL
	}
	// 3. Group the RRsets, and report fields that differ from the Zone.
	to.fqdn = p.fqdn
	p.groupRRsets(path, all, soa)
	l.zoneScope(to.zone, to.namespace).addFile(path, p, to)
	if zone != nil && zone.Status.FQDN != "" && soa >= 0 {
		result.NotTaken += l.reportSOA(path, p, all[soa], zone)
	}
	if zone != nil {
		result.NotTaken += l.reportNameServers(path, p, zone, target.CreateZone)
	}
	return p, to, result, nil
}

func (l *Loader) makeZone(ctx context.Context, p *plan, target Target) (Result, error) {
	if !target.CreateZone {
		return Result{}, fmt.Errorf("zone %s does not exist; import with --create-zone, which makes it of the SOA", target.Zone)
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: target.Zone.Namespace, Name: target.Zone.Name}, Spec: p.spec}
	ctx = l.withZone(ctx, "zone "+target.Zone.String(),
		map[string]bool{v1alpha1.ReasonNoNameServers: p.hasNS, v1alpha1.WarningAbsentHost: p.hasPrimary})
	made, err := rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
		return l.typed.KubizoneV1alpha1().Zones(zone.Namespace).Create(ctx, zone, l.createOptions())
	})
	if apierrors.IsAlreadyExists(err) {
		err = nil // our creation succeeded, and its answer was lost
	}
	if err != nil {
		return Result{}, fmt.Errorf("zone %s: %w", target.Zone, err)
	}
	l.showPlan(Change{Op: "+", Zone: target.Zone.String(), Text: fmt.Sprintf("zone %s as %s", p.fqdn, target.Zone), ZoneAfter: made})
	l.priors.addNewZone(target.Zone, p.fqdn, zone.Spec.View)
	if l.cfg.DryRun {
		l.planned = append(l.planned, objectOf("Zone", zone, &zone.Spec))
	}
	return Result{Written: 1}, nil
}

func (l *Loader) reportSOA(path string, p *plan, soa zonefile.RR, zone *v1alpha1.Zone) int {
	at := Refusal{Path: path, Lines: []int{soa.Line}, Text: soa.Name.String() + " SOA " + soa.Data}
	var wrong []string
	parts, err := zoneSpec(soa, "", func(r Refusal) { wrong = append(wrong, r.Reason) })
	file, failed := runtime.DefaultUnstructuredConverter.ToUnstructured(&parts)
	present, unread := runtime.DefaultUnstructuredConverter.ToUnstructured(&zone.Spec)
	if err := cmp.Or(err, failed, unread); err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		at.Reason = strings.Join(wrong, ", ")
		l.note("not taken over", at.String())
		return 1
	}
	for field, served := range defaultsOfSOA(p, zone) {
		present[field] = cmp.Or(present[field], served)
	}
	patch := make(map[string]any)
	for _, field := range []string{"ttl", "refresh", "retry", "expire", "negativeResponseCache", "primaryNameServer", "contact"} {
		if value, set := file[field]; set && value != present[field] {
			patch[field] = value
		}
	}
	if parts.MinimumSerial != nil && serial.Serial(*parts.MinimumSerial).Ahead(serial.Serial(zone.Status.Serial)) {
		patch["minimumSerial"] = *parts.MinimumSerial
	}
	if len(patch) == 0 {
		return 0
	}
	at.Reason, at.Fix = "the SOA is made from the Zone, and the file differs", "to take it over: "+patchCommand(zone, patch)
	l.note("not taken over", at.String())
	return 1
}

// defaultsOfSOA returns the names in the SOA of a Zone without these fields (S6.5). The zone's own export has them. If
// the Zone has no name servers, the file has the NS at the apex.
func defaultsOfSOA(p *plan, zone *v1alpha1.Zone) map[string]any {
	primary := "ns." + zone.Status.FQDN
	apexNS := slices.IndexFunc(p.sets, func(s *set) bool { return s.owner.IsApex() && s.typ == rdata.NS })
	switch {
	case len(zone.Spec.NameServers) > 0:
		primary = hostOf(zone.Spec.NameServers[0], p.fqdn)
	case apexNS >= 0:
		primary = slices.Min(p.sets[apexNS].data)
	}
	return map[string]any{"primaryNameServer": primary, "contact": "hostmaster." + zone.Status.FQDN}
}

// reportNameServers takes the data of spec.nameServers out of the plan: the NS at the apex, unless takesNS, and the
// addresses of hosts that have addresses there. Beside a Record with the same address, a later change of the Zone would
// add an address, not replace it. It returns the number of lines that differ from the Zone, and reports them with one
// command that sets all.
func (l *Loader) reportNameServers(path string, p *plan, zone *v1alpha1.Zone, takesNS bool) (lines int) {
	servers := slices.Clone(zone.Spec.NameServers)
	isKnown := zone.Status.FQDN != ""
	var differing []Refusal
	p.sets = slices.DeleteFunc(p.sets, func(s *set) bool {
		isApexNS := s.owner.IsApex() && s.typ == rdata.NS
		differs := false
		switch host := s.fqdn(p.fqdn); {
		case isApexNS && !takesNS && (!isKnown || len(servers) > 0):
			servers, differs = addServers(servers, s.data, p.fqdn)
		case s.typ == rdata.A || s.typ == rdata.AAAA:
			i := slices.IndexFunc(servers, func(server v1alpha1.NameServer) bool {
				return len(server.Addresses) > 0 && hostOf(server, p.fqdn) == host
			})
			if i < 0 {
				return false
			}
			servers[i].Addresses, differs = addAddresses(servers[i].Addresses, s.data)
		default:
			return false
		}
		if differs {
			differing = append(differing, Refusal{Path: path, Lines: s.lines, Text: s.describe(p.fqdn) + " " + strings.Join(s.data, " "),
				Reason: "name servers and their addresses are fields of the Zone"})
			lines += len(s.lines)
		}
		return true
	})
	for _, at := range differing {
		if at.Fix = "ask the owner of the zone to set spec.nameServers"; isKnown {
			at.Fix = "to serve them: " + patchCommand(zone, map[string]any{"nameServers": servers})
		}
		l.note("not taken over", at.String())
	}
	return lines
}

func hostOf(server v1alpha1.NameServer, origin name.Name) string {
	fqdn, err := name.ParseIn(server.Name, origin)
	if err != nil {
		return server.Name
	}
	return fqdn.String()
}

func addServers(servers []v1alpha1.NameServer, hosts []string, origin name.Name) (all []v1alpha1.NameServer, added bool) {
	for _, host := range hosts {
		if !slices.ContainsFunc(servers, func(server v1alpha1.NameServer) bool { return hostOf(server, origin) == host }) {
			servers, added = append(servers, v1alpha1.NameServer{Name: host}), true
		}
	}
	return servers, added
}

// addAddresses returns a copy of has with the addresses that it lacks, in whatever spelling: "2001:DB8::1" is
// "2001:db8::1".
func addAddresses(has, addresses []string) (all []string, added bool) {
	all = slices.Clone(has)
	for _, text := range addresses {
		if !slices.ContainsFunc(has, func(other string) bool { return isSameAddress(other, text) }) {
			all, added = append(all, text), true
		}
	}
	return all, added
}

func isSameAddress(one, other string) bool {
	parsed, err := netip.ParseAddr(one)
	second, otherErr := netip.ParseAddr(other)
	return cmp.Or(err, otherErr) == nil && parsed == second
}

func patchCommand(zone *v1alpha1.Zone, spec map[string]any) string {
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("kubectl patch zone -n %s %s --type=merge -p '%s'", zone.Namespace, zone.Name, patch)
}
