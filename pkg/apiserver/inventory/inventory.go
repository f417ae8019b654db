// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
)

const processSelf = "apiserver"

// Reader computes the status of the object Installation: processes, etcd, backup, certificates and permissions.
// Began, EtcdState, ListGone and ListTerminating are required.
type Reader struct {
	Began time.Time
	// Parts names the other processes in this process, for example "controller".
	Parts []string
	// Processes follows the Leases of processes in other pods. Nil outside a pod.
	Processes *heartbeat.Watcher
	// EtcdState returns the last check of etcd, and whether the alarms NOSPACE (full) and CORRUPT are set.
	EtcdState func() (state maintenance.State, full, corrupt bool)
	// ListGone lists deleted namespaces whose objects remain. The bool is false if unknown.
	ListGone func() ([]string, bool)
	// ListTerminating lists namespaces under deletion whose objects remain.
	ListTerminating func() []string
	// Permissions lists the RBAC rules that the server lacks. Nil without a kube-apiserver.
	Permissions func() []string
	Certificates
}

func (r *Reader) Run(ctx context.Context) error {
	if r.Processes != nil {
		r.Processes.Run(ctx)
	}
	return nil
}

// ExplainStale returns NoController as the cause of stale Deliveries, or "".
func (r *Reader) ExplainStale() string {
	if r.Processes == nil {
		return ""
	}
	cause := judge.JudgeController(r.Processes.LifeOf(heartbeat.Controller))
	if cause.Status == "" {
		return ""
	}
	return cause.Reason + ": " + cause.Message
}

// ReadStatus returns the status as of now, from memory. A part that is not known is in Unknown, with the reason.
func (r *Reader) ReadStatus() v1alpha1.InstallationStatus {
	s := v1alpha1.InstallationStatus{Version: version.Number()}
	miss := func(part, format string, args ...any) {
		s.Unknown = append(s.Unknown, v1alpha1.InstallationUnknown{Part: part, Reason: fmt.Sprintf(format, args...)})
	}

	// 1. Processes: this server, the parts in this process, and other pods by their Leases.
	host, _ := os.Hostname()
	began, now := metav1.NewTime(r.Began), metav1.Now()
	s.Processes = []v1alpha1.InstallationProcess{{Name: processSelf, Replica: host, Started: &began, Renewed: &now}}
	for _, part := range r.Parts {
		s.Processes = append(s.Processes, v1alpha1.InstallationProcess{Name: part, Replica: host, Started: &began, Renewed: &now})
	}
	if r.Processes == nil && len(r.Parts) == 0 {
		miss(v1alpha1.InstallationProcesses, "this server runs outside of a pod, so it reads no Leases of other processes; "+
			"see their /healthz")
	} else if r.Processes != nil {
		replicas, err := r.Processes.Replicas()
		if err != nil {
			miss(v1alpha1.InstallationProcesses, "their Leases could not be listed (%v), so the ages are those of the last look; kubectl "+
				"kubizone doctor names a missing permission", err)
		}
		for _, one := range replicas {
			s.Processes = append(s.Processes, v1alpha1.InstallationProcess{Name: one.Process, Replica: one.Identity,
				Started: timeOrNil(one.Started), Renewed: timeOrNil(one.Renewed), Ended: one.Ended})
		}
	}

	// 2. etcd, as of the last check, and the last backup.
	state, full, corrupt := r.EtcdState()
	if state.CheckedAt.IsZero() {
		miss(v1alpha1.InstallationEtcdMembers, "the server has just begun and not checked etcd yet; ask again in 15 seconds")
	} else {
		s.Etcd = &v1alpha1.InstallationEtcd{Checked: metav1.NewTime(state.CheckedAt)}
		for _, m := range state.Members {
			member := v1alpha1.InstallationEtcdMember{Endpoint: m.Endpoint, Leader: m.IsLeader, Version: m.Version, SizeBytes: m.Size,
				InUseBytes: m.InUse, QuotaBytes: m.Quota}
			if m.Err != nil {
				member.Error = m.Err.Error()
			}
			s.Etcd.Members = append(s.Etcd.Members, member)
		}
		if full {
			s.Etcd.Alarms = append(s.Etcd.Alarms, "NOSPACE")
		}
		if corrupt {
			s.Etcd.Alarms = append(s.Etcd.Alarms, "CORRUPT")
		}
	}
	if s.LastBackup = timeOrNil(state.LastBackup); s.LastBackup == nil {
		miss(v1alpha1.InstallationBackup, "no backup is noted in etcd: kubizone backup notes each (docs/operations.md, Backup)")
	}

	// 3. Certificates, permissions, and namespaces that left objects.
	r.addCertificates(&s, miss)
	if r.Permissions != nil {
		s.MissingPermissions = r.Permissions()
	}
	if gone, known := r.ListGone(); known {
		s.NamespacesGone = slices.Sorted(slices.Values(gone))
	}
	s.NamespacesTerminating = slices.Sorted(slices.Values(r.ListTerminating()))
	return s
}

func (r *Reader) addCertificates(s *v1alpha1.InstallationStatus, miss func(part, format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(r.Certificates)) {
		end, err := r.Certificates.EndOf(name)
		if err != nil {
			miss(v1alpha1.InstallationCertificates, "%s: no certificate could be read: %v", name, err)
			continue
		}
		s.Certificates = append(s.Certificates, v1alpha1.InstallationCertificate{Name: name, NotAfter: metav1.NewTime(end)})
	}
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	of := metav1.NewTime(at)
	return &of
}
