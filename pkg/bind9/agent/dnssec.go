// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// showDS answers the DS records of a zone's key signing keys, from named's DNSKEY and CDS. A zone without keys is a
// 404.
func (a *Agent) showDS(job *work) (int, any, error) {
	ctx := job.request.Context()
	if _, err := a.readStatus(ctx, job.zone); err != nil {
		return 0, nil, err
	}
	keys, err := a.queryRRset(ctx, job.zone, rdata.DNSKEY)
	if err != nil {
		return 0, nil, err
	}
	wanted, err := a.queryRRset(ctx, job.zone, rdata.CDS)
	if err != nil {
		return 0, nil, err
	}

	answer := protocol.DS{Success: true, Zone: showName(job.zone), Records: []protocol.DSRecord{}}
	for _, record := range keys {
		key, ok := record.(*mdns.DNSKEY)
		// A zone signing key has no DS, and a revoked key (RFC 5011) must not get one.
		if !ok || key.Flags&mdns.SEP == 0 || key.Flags&mdns.REVOKE != 0 {
			continue
		}
		ds := key.ToDS(mdns.SHA256)
		digest := strings.ToUpper(ds.Digest)
		answer.Records = append(answer.Records, protocol.DSRecord{
			KeyTag: ds.KeyTag, Algorithm: ds.Algorithm, DigestType: ds.DigestType, Digest: digest,
			RR: fmt.Sprintf("%s IN DS %d %d %d %s", job.zone, ds.KeyTag, ds.Algorithm, ds.DigestType, digest),
			// named asks the parent by CDS for a single digest type. Another digest of the same key counts, too.
			CDS: slices.ContainsFunc(wanted, func(record mdns.RR) bool {
				cds, ok := record.(*mdns.CDS)
				return ok && cds.KeyTag == ds.KeyTag && cds.Algorithm == ds.Algorithm && (cds.DigestType != ds.DigestType ||
					strings.EqualFold(cds.Digest, ds.Digest))
			}),
		})
	}

	if len(keys) == 0 {
		return 0, nil, refuse(http.StatusNotFound, "zone %s is not signed; PATCH it with dnssecPolicy", showName(job.zone))
	}

	slices.SortFunc(answer.Records, func(x, y protocol.DSRecord) int {
		return cmp.Or(cmp.Compare(x.KeyTag, y.KeyTag), cmp.Compare(x.Digest, y.Digest))
	})
	return http.StatusOK, answer, nil
}

// checkDS passes a client's observation to named: the parent has the DS of a key (published), or no longer has it
// (withdrawn). named's timers for the rollover begin with this.
func (a *Agent) checkDS(job *work) (int, any, error) {
	var asked protocol.CheckDS
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	if asked.DS != protocol.DSPublished && asked.DS != protocol.DSWithdrawn {
		return 0, nil, refuse(http.StatusBadRequest, "ds %q: must be %s or %s", asked.DS, protocol.DSPublished, protocol.DSWithdrawn)
	}

	defer a.lockZone(job.zone)()
	text, err := a.runCommand(job.request.Context(), fmt.Sprintf("dnssec -checkds -key %d %s %s", asked.KeyTag, asked.DS,
		quoteZone(job.zone)))
	switch {
	case failedWith(err, resultNotFound):
		return 0, nil, unknownZone(job.zone)
	case err != nil:
		return 0, nil, asConflict(err)
	// The text of a success differs between named's versions.
	case !strings.HasPrefix(strings.ToLower(text), "key ") && !strings.Contains(text, "Marked DS"):
		// named reports a missing key or policy as text, without an error.
		return 0, nil, &problem{status: http.StatusConflict, message: (&rndc.Failure{Command: "dnssec", Err: text}).Error()}
	}
	return http.StatusOK, protocol.ZoneResponse{Success: true, Message: fmt.Sprintf("named knows that the DS of key %d of zone %s is %s",
		asked.KeyTag, showName(job.zone), asked.DS), Details: text}, nil
}

// maxKeyText is named 9.18's buffer for the key report, less a key. named drops lines that do not fit, so a longer
// report could show another key's state, or lack keys in use.
const maxKeyText = 4096 - 600

var keyLine = regexp.MustCompile(`^key: (\d+) \([^)]*\), (\S+)`)

// readDNSSEC returns the state of a zone's keys, or nil for a zone without a policy. The key report is appended to
// of.text, for people.
func (a *Agent) readDNSSEC(ctx context.Context, zone name.Name, of *zoneStatus) (*protocol.DNSSECStatus, error) {
	// Only zones with DNSSEC cost a second command.
	if of.lines["key maintenance"] == "" && of.lines["inline signing"] != "yes" && of.lines["secure"] != "yes" {
		return nil, nil
	}

	text, err := a.runCommand(ctx, "dnssec -status "+quoteZone(zone))
	// named refuses the command for a zone without a policy.
	if _, failed := err.(*rndc.Failure); failed {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	if len(text) > maxKeyText {
		return nil, refuse(http.StatusConflict, "zone %s has more keys than named can tell of; "+
			"set purge-keys of its dnssec-policy to less, or remove files of keys that are hidden", showName(zone))
	}

	of.text += "\n" + text
	status := &protocol.DNSSECStatus{Signed: of.lines["secure"] == "yes", Keys: []protocol.DNSSECKey{}, UnsignedSerial: of.number("serial")}

	// Lines with "- " belong to the key above: key: 4711 (ECDSAP256SHA256), KSK, then - ds: rumoured.
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if found := keyLine.FindStringSubmatch(line); found != nil {
			tag, err := strconv.ParseUint(found[1], 10, 16)
			if err != nil {
				return nil, fmt.Errorf("named's words about a key: %q", line)
			}
			status.Keys = append(status.Keys, protocol.DNSSECKey{Tag: uint16(tag), Role: found[2]})
		}
		switch what, value, _ := strings.Cut(strings.TrimPrefix(line, "- "), ":"); {
		case what == "dnssec-policy":
			status.Policy = strings.TrimSpace(value)
		case what == "ds" && len(status.Keys) > 0:
			status.Keys[len(status.Keys)-1].DSState = strings.TrimSpace(value)
		}
	}

	// Signed by hand, without a policy: no rollover to follow.
	if status.Policy == "" {
		return nil, nil
	}
	return status, nil
}
