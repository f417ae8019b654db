// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/transfer"
)

// messageTime bounds one DNS message and its answer.
const messageTime = 10 * time.Second

// defaultTTL is that of a record without one, as at bindcar.
const defaultTTL uint32 = 3600

func (a *Agent) addRecord(_ http.ResponseWriter, job *work) (int, any, error) {
	var asked protocol.AddRecord
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	added, err := readChange(job.zone, asked.Name, asked.Type, "value", asked.TTL, preferring(asked.Type, asked.Priority, asked.Value),
		asked.Value)
	if err != nil {
		return 0, nil, err
	}
	return a.writeRecords(job, http.StatusCreated, "added", added, nil, &added)
}

func (a *Agent) deleteRecord(_ http.ResponseWriter, job *work) (int, any, error) {
	var asked protocol.DeleteRecord
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	given := asked.Value
	if given == "" {
		given = "-" // an RRset: no value is needed
	}
	removed, err := readChange(job.zone, asked.Name, asked.Type, "value", nil, asked.Value, given)
	if err != nil {
		return 0, nil, err
	}
	return a.writeRecords(job, http.StatusOK, "removed", removed, &removed, nil)
}

func (a *Agent) updateRecord(_ http.ResponseWriter, job *work) (int, any, error) {
	var asked protocol.UpdateRecord
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	removed, err := readChange(job.zone, asked.Name, asked.Type, "currentValue", nil, preferring(asked.Type, asked.Priority,
		asked.CurrentValue), asked.CurrentValue)
	if err != nil {
		return 0, nil, err
	}
	added, err := readChange(job.zone, asked.Name, asked.Type, "newValue", asked.TTL, preferring(asked.Type, asked.Priority,
		asked.NewValue), asked.NewValue)
	if err != nil {
		return 0, nil, err
	}
	return a.writeRecords(job, http.StatusOK, "changed", added, &removed, &added)
}

// preferring puts a priority before a value of MX or SRV. Of other types bindcar ignores it.
func preferring(rrtype string, priority *uint16, value string) string {
	if rrtype = strings.ToUpper(rrtype); rrtype != "MX" && rrtype != "SRV" {
		return value
	}
	return withPriority(priority, value)
}

// readChange reads one record of a request. given is the field as it came, which must not be empty.
func readChange(zone name.Name, owner, typeText, field string, ttl *uint32, value, given string) (dns.Entry, error) {
	t, err := readType("type", typeText)
	if err != nil {
		return dns.Entry{}, err
	}
	if given == "" {
		return dns.Entry{}, refuse(http.StatusBadRequest, "%s: is missing", field)
	}
	if ttl == nil {
		ttl = new(uint32)
		*ttl = defaultTTL
	}
	return readRecord("record", zone, owner, t, ttl, value)
}

// writeRecords sends one update (RFC 2136), which removes and adds together or not at all. A record that cannot stand
// beside the rest of the name is refused: a server would leave it out and say nothing (RFC 2136 §3.4.2.2).
func (a *Agent) writeRecords(job *work, status int, done string, about dns.Entry, removed, added *dns.Entry) (int, any, error) {
	ctx := job.request.Context()
	defer a.lockZone(job.zone)()
	state, err := a.readStatus(ctx, job.zone)
	switch {
	case err != nil:
		return 0, nil, err
	case state.lines["type"] != protocol.Primary:
		return 0, nil, refuse(http.StatusBadRequest, "zone %s is a %s zone; write its records at its primary", showName(job.zone),
			state.lines["type"])
	case state.lines["dynamic"] == "no":
		return 0, nil, refuse(http.StatusBadRequest, "zone %s takes no updates; PATCH it with allowUpdate, or make it with updateKeyName",
			showName(job.zone))
	}
	code, err := a.sendUpdate(ctx, job.zone, removed, added, beside)
	if err == nil && code == mdns.RcodeYXDomain {
		code, err = a.sendUpdate(ctx, job.zone, removed, added, inPlace)
	}
	if err == nil && code == mdns.RcodeSuccess && added != nil {
		// Some records named leaves out and says nothing, as DS where no NS is.
		stands := newUpdate(job.zone)
		stands.RRsetUsed([]mdns.RR{emptyOf(*added)})
		code, err = a.sendMessage(ctx, stands)
		if code == mdns.RcodeNXRrset {
			return 0, nil, refuse(http.StatusConflict, "%s %s: named took the update and left the record out; at this name, "+
				"or in this zone, it does not allow the type", about.Name, about.Type)
		}
	}
	blamed := false
	if err == nil && code == mdns.RcodeRefused {
		// An update that does nothing tells whether the key or the record is refused.
		var empty int
		empty, err = a.sendMessage(ctx, newUpdate(job.zone))
		blamed = empty == mdns.RcodeSuccess
	}
	switch {
	case err != nil:
		return 0, nil, err
	case blamed:
		return 0, nil, refuse(http.StatusBadRequest, "%s %s: named refuses the record; its log says why: "+
			"a host that is no host name (check-names), or one without an address in the zone (check-integrity)", about.Name, about.Type)
	case code == mdns.RcodeYXRrset, code == mdns.RcodeNXRrset:
		return 0, nil, refuse(http.StatusConflict, "%s %s: a CNAME stands beside no other type; remove what else is at the name first",
			about.Name, about.Type)
	case code == mdns.RcodeRefused:
		return 0, nil, refuse(http.StatusConflict, "named answers REFUSED: allow updates of zone %s to the agent's key, "+
			"by updateKeyName or by PATCH with allowUpdate; a frozen zone takes none", showName(job.zone))
	case code != mdns.RcodeSuccess:
		return 0, nil, refuse(http.StatusConflict, "named answers %s to the update of zone %s; its log says why", mdns.RcodeToString[code],
			showName(job.zone))
	}
	return status, protocol.RecordResponse{
		Success: true, Message: fmt.Sprintf("%s %s is %s", about.Name, about.Type, done),
		Details: &protocol.RecordDetails{Zone: showName(job.zone), Name: about.Name.String(), Type: about.Type.String()},
	}, nil
}

// A condition is the prerequisite of an update with a new record.
type condition int

const (
	// beside: no CNAME is there, and for a CNAME nothing else.
	beside condition = iota
	// inPlace: a CNAME is there, and takes the new one in its place.
	inPlace
)

func (a *Agent) sendUpdate(ctx context.Context, zone name.Name, removed, added *dns.Entry, where condition) (int, error) {
	message := newUpdate(zone)
	if added != nil {
		cname := []mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: added.Name.String(), Rrtype: mdns.TypeCNAME}}}
		switch {
		case where == inPlace:
			message.RRsetUsed(cname)
		case added.Type == rdata.CNAME:
			message.NameNotUsed(cname)
		default:
			message.RRsetNotUsed(cname)
		}
	}
	if removed != nil {
		record, err := packEntry(zone, *removed)
		switch {
		case err != nil:
			return 0, err
		case removed.Data == "":
			message.RemoveRRset([]mdns.RR{record})
		default:
			message.Remove([]mdns.RR{record})
		}
	}
	if added != nil {
		record, err := packEntry(zone, *added)
		if err != nil {
			return 0, err
		}
		message.Insert([]mdns.RR{record})
	}
	return a.sendMessage(ctx, message)
}

func (a *Agent) sendMessage(ctx context.Context, message *mdns.Msg) (rcode int, err error) {
	answer, err := a.exchangeMessage(ctx, message)
	if err != nil {
		return 0, err
	}
	return answer.Rcode, nil
}

func headerOf(entry dns.Entry) mdns.RR_Header {
	return mdns.RR_Header{Name: entry.Name.String(), Rrtype: uint16(entry.Type), Class: mdns.ClassINET, Ttl: entry.TTL}
}

func emptyOf(entry dns.Entry) mdns.RR { return &mdns.ANY{Hdr: headerOf(entry)} }

// newUpdate makes an update that does nothing yet.
func newUpdate(zone name.Name) *mdns.Msg {
	message := new(mdns.Msg)
	message.SetUpdate(zone.String())
	return message
}

// packEntry goes by the wire format, so no text is parsed by a second set of rules (A4).
func packEntry(zone name.Name, entry dns.Entry) (mdns.RR, error) {
	if entry.Data == "" {
		return emptyOf(entry), nil
	}
	wire, err := rdata.Value{Type: entry.Type, Text: entry.Data}.Pack(zone)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "value: %v", err)
	}
	header := headerOf(entry)
	header.Rdlength = uint16(len(wire))
	return &mdns.RFC3597{Hdr: header, Rdata: hex.EncodeToString(wire)}, nil
}

// exchangeMessage signs a message, sends it by TCP, and checks the answer.
func (a *Agent) exchangeMessage(ctx context.Context, message *mdns.Msg) (*mdns.Msg, error) {
	key, err := a.config.UpdateKey()
	if err != nil {
		return nil, fmt.Errorf("key of updates: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, messageTime)
	defer cancel()
	answer, err := func() (*mdns.Msg, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.config.Nameserver)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
		return transfer.Exchange(ctx, conn, message, &key)
	}()
	var refusal *transfer.Refusal
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &refusal):
		// An answer about a zone that named has, which our key did not sign.
		return nil, refuse(http.StatusConflict, "named does not accept the agent's key %s for updates: %v; give both the same key, "+
			"and the same clock", key.Name, refusal)
	}
	return nil, unavailable(fmt.Errorf("%s: %w", a.config.Nameserver, err), "named does not answer DNS")
}

// queryRRset asks named for an RRset.
func (a *Agent) queryRRset(ctx context.Context, owner name.Name, t rdata.Type) ([]mdns.RR, error) {
	message := new(mdns.Msg)
	message.SetQuestion(owner.String(), uint16(t))
	message.RecursionDesired = false
	answer, err := a.exchangeMessage(ctx, message)
	if err != nil {
		return nil, err
	}
	var records []mdns.RR
	for _, record := range answer.Answer {
		if record.Header().Rrtype == uint16(t) && mdns.CanonicalName(record.Header().Name) == owner.String() {
			records = append(records, record)
		}
	}
	return records, nil
}
