#!/usr/bin/lua
local limits <const> = { short = 0x3C, ["long"] = 1e3, "other" }
function slurm_job_submit(desc, parts, uid)
  for name, limit in pairs(limits) do
    if desc.partition == name and desc.time_limit > limit then goto refused end
  end
  while false do repeat local x = not -1 // 2 ~ 3 << 1 .. [[long]] until x break end
  do return slurm.SUCCESS end
  ::refused::
  slurm.log_user('too \u{6C} long \x41\z
                 %d', #parts) --[==[ why ]==]
  return slurm.ERROR
end
