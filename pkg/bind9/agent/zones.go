// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/name"
)

// parseZoneName parses the name of a zone in a path or body, with or without the trailing dot; "." is the root. The
// error is a 400 with the field.
func parseZoneName(field, text string) (name.Name, error) {
	if text != "." && text != "" {
		text = strings.TrimSuffix(text, ".") + "."
	}
	zone, err := name.Parse(text)
	switch {
	case err != nil:
		return name.Name{}, refuse(http.StatusBadRequest, "%s: %v", field, err)
	case strings.Contains(zone.String(), "*"):
		return name.Name{}, refuse(http.StatusBadRequest, "%s %q: a zone cannot have the name of a wildcard", field, text)
	}
	return zone, nil
}

func showName(zone name.Name) string {
	if zone == name.Root {
		return "."
	}
	return strings.TrimSuffix(zone.String(), ".")
}

func quoteZone(zone name.Name) string { return `"` + showName(zone) + `"` }

type zoneStatus struct {
	text  string
	lines map[string]string
}

// Results of named's control channel (lib/isc/result.c of BIND).
const (
	resultNotFound  = "not found"
	resultExists    = "already exists"
	resultNotLoaded = "zone not loaded"
	resultMultiple  = "multiple"
)

func failedWith(err error, result string) bool {
	var failure *rndc.Failure
	return errors.As(err, &failure) && failure.Err == result
}

func unknownZone(zone name.Name) error {
	return refuse(http.StatusNotFound, "named has no zone %s; POST %s/zones makes one", showName(zone), protocol.Base)
}

func asConflict(err error) error {
	var failure *rndc.Failure
	if errors.As(err, &failure) {
		return refuse(http.StatusConflict, "%v", failure)
	}
	return err
}

// readStatus returns named's status of a zone. The error is a 404 if named has no such zone, and a 409 if the zone is
// in several views.
func (a *Agent) readStatus(ctx context.Context, zone name.Name) (*zoneStatus, error) {
	text, err := a.runCommand(ctx, "zonestatus "+quoteZone(zone))
	switch {
	case failedWith(err, resultNotFound):
		return nil, unknownZone(zone)
	case failedWith(err, resultMultiple):
		return nil, refuse(http.StatusConflict, "named has zone %s in several views, and the API has no views; give the agent a named "+
			"without views", showName(zone))
	case failedWith(err, resultNotLoaded):
		// named shows no configuration of a catalog member.
		of := protocol.Secondary
		// A secondary exists before its first transfer, without a status. The answer must not look like a missing zone
		// (A2).
		if block, err := a.readClauses(ctx, zone); err == nil {
			of = block.word("type")
		}
		text = fmt.Sprintf("name: %s\ntype: %s\nloaded: no", showName(zone), of)
	case err != nil:
		return nil, err
	}
	status := &zoneStatus{text: text, lines: map[string]string{}}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			status.lines[key] = value
		}
	}
	return status, nil
}

func (s *zoneStatus) number(line string) *uint32 {
	n, err := strconv.ParseUint(s.lines[line], 10, 32)
	if err != nil {
		return nil
	}
	number := uint32(n)
	return &number
}

func (a *Agent) readClauses(ctx context.Context, zone name.Name) (clauses, error) {
	text, err := a.runCommand(ctx, "showzone "+quoteZone(zone))
	if err != nil {
		return nil, err
	}
	return parseClauses(text)
}

// readModifiable returns the configuration of a zone that the agent may change. Zones of named.conf and members of a
// catalog are a 409.
func (a *Agent) readModifiable(ctx context.Context, zone name.Name) (clauses, error) {
	status, err := a.readStatus(ctx, zone)
	if err != nil {
		return nil, err
	}
	if status.lines["reconfigurable via modzone"] == "no" {
		return nil, refuse(http.StatusConflict, "zone %s stands in named's configuration; change it there, "+
			"and have named read it by rndc reconfig", showName(zone))
	}
	block, err := a.readClauses(ctx, zone)
	var failure *rndc.Failure
	// named has the zone and shows no configuration, which is so for members of catalogs.
	if errors.As(err, &failure) {
		return nil, refuse(http.StatusConflict, "zone %s is a member of a catalog zone: %v; change it at the primary of the catalog",
			showName(zone), failure)
	}
	return block, err
}

func (a *Agent) listZones(*work) (int, any, error) {
	zones, err := a.files.listZones(zoneKind, secondaryKind)
	names := make([]string, 0, len(zones))
	for zone := range zones {
		names = append(names, showName(zone))
	}
	slices.Sort(names)
	return http.StatusOK, protocol.ZoneList{Zones: names, Count: len(names)}, err
}

func (a *Agent) showZoneStatus(job *work) (int, any, error) {
	status, err := a.readStatus(job.request.Context(), job.zone)
	if err != nil {
		return 0, nil, err
	}
	answer := protocol.ZoneResponse{Success: true, Message: "zone " + showName(job.zone) + " is here"}
	if answer.DNSSEC, err = a.readDNSSEC(job.request.Context(), job.zone, status); err != nil {
		return 0, nil, err
	}
	answer.Details = status.text
	answer.KeyOwner, err = a.files.readKeyOwner(job.zone)
	return http.StatusOK, answer, err
}

// zoneCommand returns the function of a route such as notify: it passes the command word with the zone's name to named.
// done completes the answer "zone example.org is …".
func zoneCommand(word, done string) func(*Agent, *work) (int, any, error) {
	return func(a *Agent, job *work) (int, any, error) {
		defer a.lockZone(job.zone)()
		text, err := a.runCommand(job.request.Context(), word+" "+quoteZone(job.zone))
		switch {
		case failedWith(err, resultNotFound):
			return 0, nil, unknownZone(job.zone)
		case err != nil:
			return 0, nil, asConflict(err)
		}
		return http.StatusOK, protocol.ZoneResponse{Success: true, Message: "zone " + showName(job.zone) + " is " + done, Details: text},
			nil
	}
}

// createZone makes a zone in named, 201, or compares an existing zone, 200 or 409. After a 503 the zone may exist, and
// a repeated request finds the zone.
func (a *Agent) createZone(job *work) (int, any, error) {
	// 1. Check the request.
	var asked protocol.CreateZone
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	zone, err := parseZoneName("zoneName", asked.ZoneName)
	if err != nil {
		return 0, nil, err
	}
	block, err := makeClauses(asked)
	if err != nil {
		return 0, nil, err
	}

	var content []byte
	if asked.ZoneType == protocol.Primary {
		if content, err = makeContent(zone, asked.ZoneConfig); err != nil {
			return 0, nil, err
		}
	}

	if asked.KeyOwner != "" && !keyOwner.MatchString(asked.KeyOwner) {
		return 0, nil, refuse(http.StatusBadRequest, "keyOwner %q: must be 1 to 253 letters, digits and -_./", asked.KeyOwner)
	}

	ctx := job.request.Context()
	defer a.lockZone(zone)()
	// 2. Compare an existing zone.
	owner, err := a.files.readKeyOwner(zone)
	if err != nil {
		return 0, nil, err
	}

	otherKeys := owner != "" && asked.KeyOwner != "" && owner != asked.KeyOwner
	status, answer, err := a.compareZone(ctx, zone, block)
	// The zone exists, or named does not answer. Only a 404 permits to write files.
	if p := (*problem)(nil); !errors.As(err, &p) || p.status != http.StatusNotFound {
		// team-b's signer must not go on with the keys of team-a.
		if err == nil && otherKeys {
			err = refuse(http.StatusConflict, "zone %s is here with keys of another owner; DELETE it with keys=remove first",
				showName(zone))
		}
		// The zone was made without an owner, by another client.
		if err == nil && owner == "" {
			err = a.files.writeKeyOwner(zone, asked.KeyOwner)
		}
		return status, answer, err
	}

	// 3. Write the owner of the keys and the zone file.
	if otherKeys {
		// Signatures kept by the former owner must not be valid for the new zone.
		if err := a.files.removeKeys(zone); err != nil {
			return 0, nil, err
		}
	}

	// Files of an attempt that failed are not in use, because named has no zone of the name.
	if err := errors.Join(a.files.writeKeyOwner(zone, asked.KeyOwner), a.files.removeAll(zone)); err != nil {
		return 0, nil, err
	}
	path, err := a.files.createFile(zone, content)
	if err != nil {
		return 0, nil, err
	}

	// 4. Add the zone to named.
	block.setClause("file", []string{strconv.Quote(path)})
	text, err := a.runCommand(ctx, "addzone "+quoteZone(zone)+" "+block.text())
	var failure *rndc.Failure
	var unasked *problem
	switch {
	case errors.As(err, &failure):
		// named refused the command, so the file is not in use. After other errors it may be.
		if err := a.files.remove(path); err != nil {
			return 0, nil, err
		}
		// named gained the zone since the comparison, for example by rndc addzone.
		if failure.Err == resultExists {
			return a.compareZone(ctx, zone, block)
		}
		return 0, nil, refuse(http.StatusBadRequest, "zone %s: %v; named's log says which record or clause it does not take",
			showName(zone), failure)
	// Too long for the control channel, so nothing was sent.
	case errors.As(err, &unasked) && unasked.status == http.StatusBadRequest:
		return 0, nil, errors.Join(err, a.files.remove(path))
	case err != nil:
		return 0, nil, err
	}
	return http.StatusCreated, protocol.ZoneResponse{Success: true, Message: "zone " + showName(zone) + " is made", Details: text},
		nil
}

// compareZone compares an existing zone with the configuration of a request: 200 if equal, 409 with the names of the
// differing clauses. The error is a 404 without the zone.
func (a *Agent) compareZone(ctx context.Context, zone name.Name, asked clauses) (int, any, error) {
	if _, err := a.readStatus(ctx, zone); err != nil {
		return 0, nil, err
	}
	present, err := a.readClauses(ctx, zone)
	var failure *rndc.Failure
	switch {
	case errors.As(err, &failure):
		return 0, nil, refuse(http.StatusConflict, "zone %s is here as a member of a catalog zone; remove it from the catalog first",
			showName(zone))
	case err != nil:
		return 0, nil, err
	}
	if other := present.listDifferences(asked); len(other) > 0 {
		return 0, nil, refuse(http.StatusConflict, "zone %s is here with another %s; PATCH changes addresses and DNSSEC, "+
			"anything else needs DELETE first", showName(zone), strings.Join(other, ", "))
	}
	return http.StatusOK, protocol.ZoneResponse{Success: true, Message: "zone " + showName(zone) + " is here with this configuration; " +
		"its records were not touched"}, nil
}

// makeClauses returns the zone block of a POST, without the file. The error is a 400 with the field.
func makeClauses(asked protocol.CreateZone) (clauses, error) {
	config := asked.ZoneConfig
	block := clauses{{"type", []string{asked.ZoneType}}}
	switch {
	case asked.ZoneType != protocol.Primary && asked.ZoneType != protocol.Secondary:
		return nil, refuse(http.StatusBadRequest, "zoneType %q: must be %s or %s", asked.ZoneType, protocol.Primary, protocol.Secondary)
	case asked.ZoneType == protocol.Secondary && len(config.Primaries) == 0:
		return nil, refuse(http.StatusBadRequest, "zoneConfig.primaries: a secondary zone needs at least one address")
	case asked.ZoneType == protocol.Primary && len(config.Primaries) > 0:
		return nil, refuse(http.StatusBadRequest, "zoneConfig.primaries: a primary zone has none; make it a secondary or leave them away")
	}
	// Only a primary takes updates, so the field has no meaning for a secondary.
	if asked.UpdateKeyName != "" && asked.ZoneType == protocol.Primary {
		key, err := quoteName("updateKeyName", asked.UpdateKeyName)
		if err != nil {
			return nil, err
		}
		block.setClause("allow-update", []string{"{", "key", key, ";", "}"})
	}

	// The client leaves the field out for an unsigned zone. In a PATCH, nil keeps the policy.
	policy := &config.DNSSECPolicy

	if *policy == "" {
		policy = nil
	}
	return block, changeClauses(&block, "zoneConfig.", protocol.ModifyZone{
		Primaries: &config.Primaries, AlsoNotify: &config.AlsoNotify, AllowTransfer: &config.AllowTransfer,
		DNSSECPolicy: policy,
	})
}

// changeClauses puts the given fields of a request into a zone block. A list of nil keeps the clause, and an empty list
// removes it. prefix completes the field names in errors.
func changeClauses(block *clauses, prefix string, asked protocol.ModifyZone) error {
	for _, list := range []struct {
		clause, field string
		texts         *[]string
		render        func(field, text string) ([]string, error)
	}{
		{"primaries", "primaries", asked.Primaries, renderServer},
		{"also-notify", "alsoNotify", asked.AlsoNotify, renderServer},
		{"allow-transfer", "allowTransfer", asked.AllowTransfer, renderMatch},
	} {
		if list.texts == nil {
			continue
		}
		tokens, err := blockOf(prefix+list.field, *list.texts, list.render)
		if err != nil {
			return err
		}
		block.setClause(list.clause, tokens)
	}
	if asked.DNSSECPolicy != nil {
		policy, err := quoteName(prefix+"dnssecPolicy", *asked.DNSSECPolicy)
		if err != nil {
			return err
		}
		block.setClause("dnssec-policy", []string{policy})
		_, updated := block.find("allow-update")
		if _, inline := block.find("inline-signing"); !updated && !inline && *asked.DNSSECPolicy != "none" {
			block.setClause("inline-signing", []string{"yes"}) // BIND signs only zones with this or updates
		}
	}
	return nil
}

// modifyZone changes the address lists or the DNSSEC policy of a zone, and answers which clauses changed. A repeated
// request changes nothing.
func (a *Agent) modifyZone(job *work) (int, any, error) {
	var asked protocol.ModifyZone
	if err := job.decode(&asked); err != nil {
		return 0, nil, err
	}
	if asked == (protocol.ModifyZone{}) {
		return 0, nil, refuse(http.StatusBadRequest, "body: nothing to change; give alsoNotify, allowTransfer, primaries or "+
			"dnssecPolicy")
	}
	if asked.Primaries != nil && len(*asked.Primaries) == 0 {
		return 0, nil, refuse(http.StatusBadRequest, "primaries: a secondary zone needs at least one address")
	}

	// 1. Read the zone's configuration.
	ctx := job.request.Context()
	defer a.lockZone(job.zone)()
	present, err := a.readModifiable(ctx, job.zone)
	if err != nil {
		return 0, nil, err
	}

	if _, secondary := present.find("primaries"); asked.Primaries != nil && !secondary {
		return 0, nil, refuse(http.StatusConflict, "primaries: zone %s is no secondary", showName(job.zone))
	}

	// 2. Apply the request to a copy, and compare.
	wanted := slices.Clone(present)
	if err := changeClauses(&wanted, "", asked); err != nil {
		return 0, nil, err
	}

	message := "zone " + showName(job.zone) + " is configured so already"
	text := ""
	changed := present.listDifferences(wanted)
	if slices.Contains(changed, "dnssec-policy") {
		if err := a.judgeUnsigning(ctx, job.zone, wanted); err != nil {
			return 0, nil, err
		}
	}

	// 3. Write the difference to named.
	if len(changed) > 0 {
		message = "zone " + showName(job.zone) + " has changed: " + strings.Join(changed, ", ")
		if text, err = a.runCommand(ctx, "modzone "+quoteZone(job.zone)+" "+wanted.text()); err != nil {
			return 0, nil, asConflict(err)
		}
	}
	if asked.DNSSECPolicy != nil {
		// modzone only stores the policy, and reconfig applies it. A repeated request runs reconfig, too, because the
		// first may have ended in between.
		if _, err := a.runCommand(ctx, "reconfig"); err != nil {
			return 0, nil, asConflict(err)
		}
	}
	return http.StatusOK, protocol.ZoneResponse{Success: true, Message: message, Details: text}, nil
}

// judgeUnsigning refuses to end signing in one step, because resolvers with the DS would see a bogus zone.
func (a *Agent) judgeUnsigning(ctx context.Context, zone name.Name, wanted clauses) error {
	if policy := wanted.word("dnssec-policy"); policy != "none" && policy != "" {
		return nil
	}
	status, err := a.readStatus(ctx, zone)
	if err == nil && status.lines["secure"] == "yes" {
		return refuse(http.StatusConflict, "dnssecPolicy: zone %s is signed; set it to \"insecure\" first, remove the DS at the parent, "+
			"and say so by dnssec/checkds", showName(zone))
	}
	return err
}

// deleteZone removes a zone from named, with its files. Keys stay unless the query has keys=remove. For a missing zone,
// leftovers are removed, and the answer is 404.
func (a *Agent) deleteZone(job *work) (int, any, error) {
	ctx := job.request.Context()
	keys, keyOwner := job.request.URL.Query().Get("keys"), job.request.URL.Query().Get("keyOwner")
	if keys != "" && keys != "remove" {
		return 0, nil, refuse(http.StatusBadRequest, "keys %q: must be remove, or missing", keys)
	}

	defer a.lockZone(job.zone)()
	switch owner, err := a.files.readKeyOwner(job.zone); {
	case err != nil:
		return 0, nil, err
	// A sweep for team-a must not take the zone, which may be team-b's by now.
	case keyOwner != "" && owner != "" && owner != keyOwner:
		return 0, nil, refuse(http.StatusConflict, "zone %s is here with keys of another owner; DELETE it with that keyOwner, "+
			"or without one", showName(job.zone))
	}

	present, err := a.readModifiable(ctx, job.zone)
	removeKeys := func() error {
		if keys == "" {
			return nil
		}
		return a.files.removeKeys(job.zone)
	}

	if p := (*problem)(nil); errors.As(err, &p) && p.status == http.StatusNotFound {
		if failed := errors.Join(a.files.removeAll(job.zone), removeKeys()); failed != nil {
			return 0, nil, failed // a 404 would tell the client that nothing is left
		}
		return 0, nil, err
	}
	if err != nil {
		return 0, nil, err
	}

	// The seven days of the keys begin now. Marked after delzone, a crash in between would leave the age of the zone,
	// and the keys would go at once.
	if err := a.files.markOrphaned(job.zone, a.config.Now()); err != nil {
		return 0, nil, err
	}

	text, err := a.runCommand(ctx, "delzone -clean "+quoteZone(job.zone))
	switch {
	case failedWith(err, resultNotFound):
		return 0, nil, unknownZone(job.zone)
	case err != nil:
		return 0, nil, asConflict(err)
	}

	if err := errors.Join(a.files.remove(present.word("file")), removeKeys()); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, protocol.ZoneResponse{Success: true, Message: "zone " + showName(job.zone) + " is removed", Details: text}, nil
}
