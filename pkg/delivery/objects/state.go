// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// StatusFor returns a Delivery's status. Tenants read the status, so a failure of the class is reduced to its kind.
func StatusFor(class string, state delivery.State, presentConditions []metav1.Condition) v1alpha1.DeliveryStatus {
	status := v1alpha1.DeliveryStatus{
		Serial: int64(state.Serial), Hash: state.Hash, Target: Fingerprint(state.Target),
		LastSyncTime: timeFor(state.SyncTime), LastDriftCheckTime: timeFor(state.DriftCheckTime),
		FailedRecords: int32(state.Failed), FailedWhole: state.FailedWhole, SkippedRecords: int32(state.Skipped), Holder: state.Holder,
		Drift: textOf(state.Drift), LastVerifyRequest: state.Request,
	}

	if !state.Zone.IsZero() {
		status.FQDN = state.Zone.String()
	}

	for _, failure := range state.Refused {
		status.Refused = append(status.Refused, v1alpha1.DeliveryRefusal{RRset: failure.Key().String(), Reason: string(failure.Err.Reason),
			Code: failure.Err.Code, Message: Shorten(PublicMessage(class, failure.Err.Reason, failure.Err.Message), delivery.MaxRefusal)})
	}
	for _, digest := range state.Digests {
		status.RefusedDigests = binary.BigEndian.AppendUint64(status.RefusedDigests, digest)
	}

	if intent := state.Intent; intent != nil {
		status.Intent = &v1alpha1.DeliveryIntent{Serial: int64(intent.Serial), From: int64(intent.From), Holder: intent.Holder,
			Time: metav1.NewTime(intent.Time), Unlisted: intent.Unlisted}
		status.Intent.RRsets = textOf(intent.RRsets)
	}

	// A row for each server, with the reason why the server lacks the serial.
	behind := state.LaggingServers()
	for _, server := range state.Servers {
		row := v1alpha1.DeliveryServer{Name: server.Name, Serial: int64(server.Serial), LastProbeTime: timeFor(server.At),
			Message: ShortenMessage(server.Note), Content: v1alpha1.ServerContent(server.Content), DiffersSince: int64(server.DiffersSince),
			AwaitsSerial: server.AwaitsSerial}
		switch {
		// The server is ahead, as after a restore of Kubizone. The judge raises the zone's serial by this row.
		case server.Err != nil && server.Err.Reason == delivery.ReasonSerialBehind:
			row.State, row.Message = v1alpha1.ServerAhead, ShortenMessage(server.Err.Message)
		case server.Err != nil:
			row.State, row.Message = v1alpha1.ServerFailed, ShortenMessage(server.Err.Message)
		case slices.Contains(behind, server.Name):
			row.State, row.Message = v1alpha1.ServerBehind, describeBehind(&state, server)
		default:
			row.State = v1alpha1.ServerCurrent
		}
		status.Servers = append(status.Servers, row)
	}

	if failure := state.Error; failure != nil {
		message := cmp.Or(failure.Message, string(failure.Reason))
		status.Error = &v1alpha1.DeliveryError{Reason: string(failure.Reason), Code: failure.Code,
			Message: ShortenMessage(PublicMessage(class, failure.Reason, message)), Timestamp: metav1.NewTime(failure.Time)}
	}

	// A state without Ready was never delivered.
	ready := state.Ready
	if ready.Status == "" {
		ready = delivery.Condition{Status: delivery.Unknown, Reason: delivery.ReasonPending}
	}

	status.Conditions = slices.Clone(presentConditions)
	set := func(kind string, of delivery.Condition) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(of.Status), Reason: string(of.Reason),
			Message: ShortenMessage(PublicMessage(class, of.Reason, of.Message)), ObservedGeneration: 1,
		})
	}
	set(v1alpha1.ConditionReady, ready)
	if state.Drifted.Status != "" {
		set(v1alpha1.ConditionDrifted, state.Drifted)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionDrifted)
	}
	return status
}

// describeBehind returns the message of a row of a server that lags without an error; "" if there is nothing to say.
func describeBehind(state *delivery.State, server delivery.Server) string {
	switch {
	case state.WentBack(server):
		return fmt.Sprintf("it went back: it answers serial %d, after serial %d was confirmed", server.Serial, state.Serial)
	// The note is about a comparison, and does not explain the lag.
	case server.Content == delivery.ContentNotCompared:
		return ""
	}
	return ShortenMessage(server.Note)
}

// textOf returns the RRsets as a Delivery lists them, as owner and type.
func textOf(rrsets []delivery.RRsetKey) []string {
	var text []string
	for _, rrset := range rrsets {
		text = append(text, rrset.String())
	}
	return text
}

func parseRRsets(text []string) ([]delivery.RRsetKey, error) {
	var rrsets []delivery.RRsetKey
	for _, one := range text {
		rrset, err := delivery.ParseRRsetKey(one)
		if err != nil {
			return nil, err
		}
		rrsets = append(rrsets, rrset)
	}
	return rrsets, nil
}

// StateOf reverses StatusFor, except for the texts of errors: StatusFor made them public. An error names the field
// that cannot be parsed, as after a write by another client.
func StateOf(one *v1alpha1.Delivery) (delivery.State, error) {
	status := &one.Status
	state := delivery.State{
		Version: one.ResourceVersion, Target: Fingerprint(status.Target), Serial: serial.Serial(status.Serial), Hash: status.Hash,
		SyncTime: timeOf(status.LastSyncTime), DriftCheckTime: timeOf(status.LastDriftCheckTime),
		Failed: int(status.FailedRecords), FailedWhole: status.FailedWhole, Skipped: int(status.SkippedRecords), Holder: status.Holder,
		Request: status.LastVerifyRequest,
	}
	fault := func(field string, err error) error {
		return fmt.Errorf("delivery %s/%s: status.%s: %w", one.Namespace, one.Name, field, err)
	}

	if status.FQDN != "" {
		var err error
		if state.Zone, err = name.Parse(status.FQDN); err != nil {
			return delivery.State{}, fault("fqdn", err)
		}
	}

	for _, one := range status.Refused {
		rrset, err := delivery.ParseRRsetKey(one.RRset)
		if err != nil {
			return delivery.State{}, fault("refused", err)
		}
		state.Refused = append(state.Refused, delivery.Failure{Name: rrset.Name, Type: rrset.Type,
			Err: &delivery.Error{Reason: delivery.Reason(one.Reason), Code: one.Code, Message: one.Message}})
	}
	for octets := range slices.Chunk(status.RefusedDigests, 8) {
		if len(octets) == 8 { // by validation
			state.Digests = append(state.Digests, binary.BigEndian.Uint64(octets))
		}
	}

	if intent := status.Intent; intent != nil {
		state.Intent = &delivery.Intent{Serial: serial.Serial(intent.Serial), From: serial.Serial(intent.From), Holder: intent.Holder,
			Time:     intent.Time.Time,
			Unlisted: intent.Unlisted || len(intent.RRsets) == 0}
		var err error
		if state.Intent.RRsets, err = parseRRsets(intent.RRsets); err != nil {
			return delivery.State{}, fault("intent.rrsets", err)
		}
	}

	var err error
	if state.Drift, err = parseRRsets(status.Drift); err != nil {
		return delivery.State{}, fault("drift", err)
	}

	for _, row := range status.Servers {
		server := delivery.Server{Name: row.Name, Serial: serial.Serial(row.Serial), At: timeOf(row.LastProbeTime),
			Content: delivery.Content(row.Content), DiffersSince: serial.Serial(row.DiffersSince), AwaitsSerial: row.AwaitsSerial}
		switch row.State {
		case v1alpha1.ServerAhead:
			server.Err = &delivery.Error{Reason: delivery.ReasonSerialBehind, Message: row.Message}
		// The row has no reason. ContentDiffers is known from the column, and all other faults are ServerError.
		case v1alpha1.ServerFailed:
			server.Err = &delivery.Error{Reason: delivery.ReasonServerError, Message: row.Message}
			if server.Content == delivery.ContentDiffers {
				server.Err.Reason = delivery.ReasonContentDiffers
			}
		default:
			if server.Note = row.Message; row.State == v1alpha1.ServerBehind && server.Serial != 0 {
				server.Note = "" // describeBehind
			}
		}
		state.Servers = append(state.Servers, server)
	}

	if failure := status.Error; failure != nil {
		state.Error = &delivery.StateError{Reason: delivery.Reason(failure.Reason), Code: failure.Code, Message: failure.Message,
			Time: failure.Timestamp.Time, Stored: true}
	}
	state.Ready, state.Drifted = conditionOf(status, v1alpha1.ConditionReady), conditionOf(status, v1alpha1.ConditionDrifted)
	return state, nil
}

func conditionOf(status *v1alpha1.DeliveryStatus, kind string) delivery.Condition {
	of := meta.FindStatusCondition(status.Conditions, kind)
	if of == nil {
		return delivery.Condition{}
	}
	return delivery.Condition{Status: delivery.Status(of.Status), Reason: delivery.Reason(of.Reason), Message: of.Message}
}

func timeFor(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
