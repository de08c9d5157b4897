"""An Accounting whose slurmdbd runs outside: slurmctld accounts in a real one by the lines that the
operator wrote for it, and by nothing else."""

import unittest

from operator_harness import OperatorTest, slinky

from msdev import slurm_conf
from msdev.console import Failure

LINE = "AccountingStorage"


class OperatorAccountingTest(OperatorTest):
    cluster = "test-op-accounting"
    slurm_options = ("--accounting",)

    def command(self, *words: str) -> str:
        return self.slurm.instance.sandbox.output([*words])

    def account_by(self, lines: list[str]):
        """slurmctld has these lines about accounting, and no others."""
        conf = self.slurm.instance.folder / "files" / "etc" / "slurm.conf"
        kept = [line for line in conf.read_text().splitlines() if not line.startswith(LINE)]
        self.slurm.stop_slurmctld()
        conf.write_text("\n".join([*kept, *lines]) + "\n")
        self.slurm.start_slurmctld()
        self.wait(lambda: self.slurm.call("nodes/").get("meta"), "slurmctld answers")

    def state(self, job: int) -> str:
        return self.command("sacct", "-n", "-X", "-P", "-j", str(job), "-o", "State").strip()

    def test_a_slurmdbd_outside(self):
        self.account_by([])
        with self.assertRaises(Failure):
            self.command("sacct")
        address = {"host": slurm_conf.ADDRESS, "port": self.slurm.plan.port("slurmdbd")}
        outside = {"external": True, "externalConfig": address}
        self.api.create(slinky("Accounting", self.ns, "acct", outside))
        self.controller(accountingRef={"name": "acct"})
        lines = lambda: [  # noqa: E731
            line for line in self.slurm_conf().splitlines() if line.startswith(LINE)
        ]
        self.wait(lambda: len(lines()) == 3, lambda: f"{lines()}")
        self.assertEqual(self.api.all("StatefulSet", self.ns)[1:], [], "a slurmdbd of ours")
        self.account_by(lines())

        name = self.nodeset(1)
        self.wait_idle(name, 1)
        job = self.slurm.run_job(f"{name}-0", "-J", "told")
        self.wait(lambda: self.state(job) == "RUNNING", lambda: self.state(job))
        self.slurm.cancel(job)
        self.wait(lambda: self.state(job).startswith("CANCELLED"), lambda: self.state(job))
        known = self.command(
            "sacctmgr", "-n", "-P", "show", "cluster", "format=Cluster,ControlPort"
        )
        self.assertIn(f"{self.cluster}|{self.slurm.plan.port('slurmctld')}", known)
        conditions = lambda: {  # noqa: E731
            c["type"]: f"{c['status']} {c['reason']}"
            for c in self.api.get("Accounting", self.ns, "acct")["status"]["conditions"]
        }
        wanted = {"Ready": "True External", "Progressing": "False Settled"}
        wanted |= {"Degraded": "False AsExpected", "SlurmReachable": "True Answers"}
        self.wait(lambda: conditions() == wanted, lambda: f"{conditions()}")


if __name__ == "__main__":
    unittest.main()
