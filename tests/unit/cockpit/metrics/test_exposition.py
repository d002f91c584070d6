"""The text format of Prometheus."""

from cockpit.metrics.exposition import Metric, Sample, render


def test_labels_are_escaped() -> None:
    samples = [Sample(value=2, labels={"target": 'a "b"\\\n', "outcome": "sent"}), Sample(value=0.25)]
    text = render([Metric(name="events_total", help="Events.", type="counter", samples=samples)])
    assert text == (
        "# HELP events_total Events.\n# TYPE events_total counter\n"
        'events_total{target="a \\"b\\"\\\\\\n",outcome="sent"} 2\nevents_total 0.25\n'
    )


def test_large_values_stay_exact() -> None:
    text = render([Metric(name="bytes", help="Bytes.", type="gauge", samples=[Sample(value=123_456_789_012)])])
    assert text.endswith("bytes 123456789012\n")
