// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

func (j *judgement) judgeServers() {
	z := j.Zone
	if z.ClassesLack != "" {
		j.add(KindServer, "", NotAsked, "the servers of a class are shown to those with the right to %s", z.ClassesLack)
	}
	if len(z.Servers) == 0 && z.ClassesLack == "" {
		j.add(KindServer, "", NotAsked, "no class shows its servers, and without --resolver the zone's NS names are not asked")
	}
	for n, server := range z.Servers {
		if n == maxLinks {
			j.add(KindServer, "", NotAsked, "%d more servers are left out", len(z.Servers)-n)
			return
		}
		answer := ServerAnswer{}
		if n < len(j.Answers) {
			answer = j.Answers[n]
		}
		j.judgeServer(server, &answer)
	}
}

func (j *judgement) neededSerial() int64 {
	switch {
	case j.Record != nil:
		return j.Record.Status.Serial
	case j.Zone.Object != nil:
		return j.Zone.Object.Status.SettledSerial
	}
	return 0
}

func (j *judgement) judgeServer(s Server, a *ServerAnswer) {
	switch {
	case !a.Asked || a.Err != "":
		j.judgeSilent(s, a)
	case a.Referral != "" && len(a.Data) == 0:
		j.add(KindServer, s.Of, Unknown, "refers to the servers of %s", a.Referral)
	case !a.Authoritative && len(a.Data) == 0:
		l := j.add(KindServer, s.Of, j.judgeView(Fails), "answers %s, without authority: no zone %s for this machine", a.RCode,
			j.Zone.FQDN)
		if s.Row != nil && s.Row.State == v1alpha1.ServerCurrent {
			l.State = Unknown // it may serve other clients
		}
		l.setStepIfBad(reasons.Platform, "have the server serve the zone")
	case j.Absent != nil:
		j.add(KindServer, s.Of, Unknown, "answers %s", a.describe())
	case j.Type == rdata.SOA && j.Record == nil:
		j.judgeServed(s, a)
	default:
		j.judgeData(s, a)
	}
}

func (l *Link) setStepIfBad(role reasons.Role, step string) {
	if l.State.IsBad() {
		l.Mends, l.Step = role, step
	}
}

// A server may answer this machine from another view.
func (j *judgement) judgeView(state State) State {
	if j.Zone.View != "" {
		return Unknown
	}
	return state
}

func (a *ServerAnswer) describe() string {
	switch {
	case a.Alias != "":
		return "CNAME " + shorten(a.Alias, maxData)
	case len(a.Data) > 0:
		return shorten(strings.Join(a.Data, ", "), maxData)
	case a.RCode == "NOERROR":
		return "without such data"
	}
	return a.RCode
}

func (j *judgement) judgeSilent(s Server, a *ServerAnswer) {
	text := "not asked"
	switch {
	case a.Err != "":
		text = a.Err
	case s.NoAddress != "":
		text = s.NoAddress
	case s.Address == "":
		text = "not asked, since its address is unknown"
	}
	row := s.Row
	has := row != nil && row.Serial != 0 && !serial.Serial(j.neededSerial()).Ahead(serial.Serial(row.Serial))
	switch {
	case row == nil && a.Asked:
		j.add(KindServer, s.Of, Fails, "%s", text).setStepIfBad(reasons.Platform, "check the server, and the way to it from here")
	case row == nil:
		j.add(KindServer, s.Of, NotAsked, "%s", text)
	case row.State == v1alpha1.ServerFailed:
		j.add(KindServer, s.Of, Fails, "%s; to the controller: %s", text, row.Message).explain("ServerUnreachable", reasons.OfReady)
	case has && a.Asked:
		j.add(KindServer, s.Of, Unknown, "no answer to this machine: %s; the controller had serial %d from it", text, row.Serial)
	case has:
		j.add(KindServer, s.Of, OK, "%s; the controller had serial %d from it", text, row.Serial)
	default:
		text = fmt.Sprintf("%s; the controller had serial %d from it, not %d yet", text, row.Serial, j.neededSerial())
		j.addOlder(s, serial.Serial(row.Serial), Waits, text)
	}
}

func (j *judgement) addOlder(s Server, has serial.Serial, state State, text string) {
	if has == 0 || s.OwnSerial || !serial.Serial(s.ConfirmedSerial).Ahead(has) {
		j.add(KindServer, s.Of, state, "%s", text).explain(v1alpha1.ReasonPending, reasons.OfReady)
		return
	}
	if state == Waits {
		state = Fails
	}
	j.add(KindServer, s.Of, state, "it went back: serial %d was confirmed there; %s", s.ConfirmedSerial, text).
		explain(v1alpha1.ReasonServerWentBack, reasons.OfReady)
}

func (j *judgement) judgeServed(s Server, a *ServerAnswer) {
	want := serial.Serial(j.neededSerial())
	switch {
	case !a.HasSOA:
		j.add(KindServer, s.Of, j.judgeView(Fails), "answers %s, without the zone's SOA", a.RCode).
			setStepIfBad(reasons.Platform, "have the server serve the zone")
	case s.OwnSerial || a.Serial == want:
		j.add(KindServer, s.Of, OK, "serves the zone at serial %d", a.Serial)
	case want.Ahead(a.Serial):
		j.addOlder(s, a.Serial, j.judgeView(Waits), fmt.Sprintf("serves serial %d, not %d yet", a.Serial, want))
	default:
		j.add(KindServer, s.Of, j.judgeView(Fails), "serves serial %d, ahead of %d", a.Serial, want).
			explain(v1alpha1.ReasonSerialBehind, reasons.OfReady)
	}
}

func (j *judgement) judgeData(s Server, a *ServerAnswer) {
	missing := subtract(j.ExpectedData, a.Data)
	var extra []string
	if j.Exact {
		extra = subtract(a.Data, j.ExpectedData)
	}
	at := ""
	if a.HasSOA && !s.OwnSerial {
		at = " at serial " + a.Serial.String()
	}
	isOlder := a.HasSOA && !s.OwnSerial && serial.Serial(j.neededSerial()).Ahead(a.Serial)
	switch {
	case len(missing)+len(extra) == 0 && len(a.Data) > 0:
		j.add(KindServer, s.Of, OK, "answers %s%s", a.describe(), at)
	case len(j.ExpectedData) == 0 && len(a.Data) > 0:
		j.add(KindServer, s.Of, Unknown, "answers %s%s; the Record's data cannot be compared", a.describe(), at)
	case isOlder:
		text := fmt.Sprintf("answers %s%s; the zone has it at serial %d", a.describe(), at, j.neededSerial())
		j.addOlder(s, a.Serial, j.judgeView(Waits), text)
	case firstBad(j.linksBefore(KindServer)) != nil:
		j.add(KindServer, s.Of, j.judgeView(Waits), "answers %s%s; the zone has it at serial %d", a.describe(), at, j.neededSerial()).
			explain(v1alpha1.ReasonPending, reasons.OfReady)
	default:
		j.add(KindServer, s.Of, j.judgeView(Fails), "answers %s%s, and the zone has %s", a.describe(), at,
			shorten(strings.Join(j.ExpectedData, ", "), maxData)).explain(v1alpha1.ReasonContentDiffers, reasons.OfReady)
	}
}

func (j *judgement) linksBefore(kind Kind) []Link {
	if n := slices.IndexFunc(j.links, func(l Link) bool { return l.Kind == kind }); n >= 0 {
		return j.links[:n]
	}
	return j.links
}

func subtract(all, without []string) (rest []string) {
	for _, one := range all {
		if !slices.Contains(without, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

func (j *judgement) judgeParents() {
	for n := range j.Zone.Parents {
		p := &j.Zone.Parents[n]
		if p.Zone == name.Root {
			return
		}
		j.judgeParent(p)
	}
}

func (j *judgement) judgeParent(p *ParentFacts) {
	of := "of " + cmp.Or(p.Zone.String(), "the zone")
	if !p.ParentName.IsZero() {
		of = p.ParentName.String()
	}
	role, step := reasons.ZoneOwner, "have the registrar, or the operator of the zone above, enter the zone's NS"
	if p.Ours {
		step = "give the zone name servers, with addresses of those in it"
	}
	switch {
	case !p.Ours && p.Err != "" && p.Resolved:
		j.add(KindParent, of, OK, "not found (%s), but the resolver %s reaches the zone", p.Err, p.Resolver)
	case !p.Ours && !p.Asked:
		text := cmp.Or(p.Err, "not asked: no resolver, which --resolver names")
		if p.Lack != "" {
			text += "; the right to " + p.Lack + " shows the Zone"
		}
		j.add(KindParent, of, NotAsked, "%s", text)
	case !p.Ours && p.Err != "":
		j.add(KindParent, of, Unknown, "%s", p.Err)
	case len(p.NS) == 0 && p.Resolved:
		j.add(KindParent, of, OK, "lists no NS of %s, but the resolver %s reaches the zone", p.Zone, p.Resolver)
	case len(p.NS) == 0:
		j.add(KindParent, of, j.judgeView(Fails), "lists no NS of %s: resolvers do not find the zone", p.Zone).setStepIfBad(role, step)
	case len(p.WantNS) > 0 && len(subtract(p.NS, p.WantNS)) == len(p.NS):
		j.add(KindParent, of, j.judgeView(Fails), "delegates %s to %s (lame), and the zone has %s", p.Zone, listed(p.NS), listed(p.WantNS)).
			setStepIfBad(role, step)
	case len(p.DS) > 0 && p.Keyless:
		j.add(KindParent, of, j.judgeView(Fails), "has DS %s, and the zone has no DNSKEY: validating resolvers refuse it", listed(p.DS)).
			setStepIfBad(role, "have the DS removed, or the zone signed")
	case len(p.DS) > 0 && len(p.WantDS) > 0 && len(subtract(p.DS, p.WantDS)) == len(p.DS):
		j.add(KindParent, of, Fails, "has DS %s, and the zone has the keys %s: validating resolvers refuse it", listed(p.DS),
			listed(p.WantDS)).setStepIfBad(role, "have the DS of status.dnssec.ds entered")
	case len(p.WantDS) > 0 && p.Phase == v1alpha1.DNSSECSigned && len(p.DS) == 0:
		j.add(KindParent, of, Waits, "delegates %s to %s, without a DS: the zone is signed and not validated", p.Zone, listed(p.NS)).
			setStepIfBad(role, "have the DS of status.dnssec.ds entered")
	default:
		j.add(KindParent, of, OK, "delegates %s to %s%s", p.Zone, listed(p.NS), describeDS(p))
	}
}

func listed(all []string) string { return shorten(strings.Join(all, ", "), maxData) }

func describeDS(p *ParentFacts) string {
	rest := subtract(p.NS, p.WantNS)
	text := ""
	if len(p.WantNS) > 0 && len(rest)+len(subtract(p.WantNS, p.NS)) > 0 {
		text = "; the zone itself has " + listed(p.WantNS)
	}
	if len(p.DS) > 0 {
		text += ", with DS " + listed(p.DS)
	}
	return text
}
