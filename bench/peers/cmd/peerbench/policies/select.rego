# SPDX-License-Identifier: Apache-2.0
package selection

import rego.v1

model := input.isvc.spec.predictor.model

protocol := object.get(model, "protocolVersion", "v1")

gpu if model.resources.limits["nvidia.com/gpu"]

format_priority(rt) := p if {
	some f in rt.spec.supportedModelFormats
	f.name == model.modelFormat.name
	f.autoSelect
	object.get(model.modelFormat, "version", f.version) == f.version
	p := object.get(f, "priority", 0)
}

untrusted(rt) if {
	some c in rt.spec.containers
	startswith(c.image, "untrusted/")
}

wrong_accelerator(rt) if {
	gpu
	rt.metadata.labels.accelerator == "none"
}

scope(rt) := 0 if rt.metadata.namespace

scope(rt) := 1 if not rt.metadata.namespace

# Timestamps of equal form order as text; ranking descends over them, so the
# newest wins after an ascending sort on the negated epoch.
candidates contains [scope(rt), 0 - p, 0 - time.parse_rfc3339_ns(rt.metadata.creationTimestamp), rt.metadata.name] if {
	some rt in input.runtimes
	p := format_priority(rt)
	not rt.spec.disabled
	not rt.spec.workerSpec
	protocol in rt.spec.protocolVersions
	not untrusted(rt)
	not wrong_accelerator(rt)
}

# A set iterates in sorted order.
ranked := [c[3] | some c in candidates]

result := {"name": ranked[0], "count": count(ranked)}
