// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of the three kinds (S11.8). The fleet controller writes them, but for Delivering.
const (
	// ConditionReady: True when every server that the object asks for answers queries.
	ConditionReady = "Ready"
	// ConditionProgressing: True while servers are made, changed or removed.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: True while a server that was ready is not, while the agent of a server does not answer, or
	// while an object in the way is another manager's.
	ConditionDegraded = "Degraded"
	// ConditionConfigValid: False while BIND's own check refuses the configuration, which is not applied then.
	ConditionConfigValid = "ConfigValid"
	// ConditionDelivering: of a Bind9Cluster that is the class of zones (S11.30), what Ready of a DNSClass says: False
	// while no zone can be delivered by it. The delivery controller writes it, and removes it when no zone names the
	// cluster.
	ConditionDelivering = "Delivering"
)

// Labels of Bind9Instances and of the objects that are made for them.
const (
	// LabelCluster names the Bind9Cluster.
	LabelCluster = "bind9.kubi.zone/cluster"
	// LabelRole is primary or secondary.
	LabelRole = "bind9.kubi.zone/role"
	// LabelInstance names the Bind9Instance.
	LabelInstance = "bind9.kubi.zone/instance"
	// LabelManagedBy says which kind made the object: ClusterBind9Provider, Bind9Cluster or Bind9Instance.
	LabelManagedBy = "bind9.kubi.zone/managed-by"
)
