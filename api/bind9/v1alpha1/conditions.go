// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of all three kinds (S11.8), by the fleet controller, except Delivering.
const (
	// ConditionReady: True when every requested server answers queries.
	ConditionReady = "Ready"
	// ConditionProgressing: True while servers are created, changed or removed.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: True while a formerly ready server is not ready, an agent does not answer, or another
	// manager's object is in the way.
	ConditionDegraded = "Degraded"
	// ConditionConfigValid: False while BIND's check rejects the configuration, which is then not applied.
	ConditionConfigValid = "ConfigValid"
	// ConditionDelivering of a Bind9Cluster used as a class (S11.30): False while it cannot deliver zones. The delivery
	// controller writes it, and removes it when no zone names the cluster.
	ConditionDelivering = "Delivering"
)

// Labels of Bind9Instances and of their objects.
const (
	LabelCluster = "bind9.kubi.zone/cluster"
	// LabelRole is primary or secondary.
	LabelRole     = "bind9.kubi.zone/role"
	LabelInstance = "bind9.kubi.zone/instance"
	// LabelManagedBy is the creator's kind: ClusterBind9Provider, Bind9Cluster or Bind9Instance.
	LabelManagedBy = "bind9.kubi.zone/managed-by"
)
